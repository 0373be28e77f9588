package dev.drover.runtime.worker;

import dev.drover.plan.task.Lookahead;
import dev.drover.plan.task.Task;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The send and receive lanes of a worker, beside its compute lane.
 *
 * <p>Sends and receives are started by the compute lane in the order of its list and go on by themselves. The receive lane runs a
 * few receives ahead, so that values travel while earlier tasks compute; so many sends may be under way, and before one more is started
 * the oldest must have left ({@link Lookahead}). Between two ranks the n-th send pairs with the n-th receive, by tag.
 */
final class Lanes implements AutoCloseable {

    private static final int TAGS = 1 << 20;

    private final List<Task> tasks;
    private final Function<Task.Receive, DeviceTensor> place;
    private final @Nullable Communicator world;
    private final Map<Integer, Integer> sentByRank = new HashMap<>();
    private final Map<Integer, Integer> receivedByRank = new HashMap<>();
    private final Deque<Transfer> sends = new ArrayDeque<>();

    /** Receives started in this step and not yet come to, in order. */
    private final Deque<Transfer> started = new ArrayDeque<>();

    private int nextReceive;

    /** @param place where the value of a receive is to lie */
    Lanes(List<Task> tasks, Function<Task.Receive, DeviceTensor> place, @Nullable Communicator world) {
        this.tasks = tasks;
        this.place = place;
        this.world = world;
    }

    private Communicator world() {
        if (world == null) {
            throw new IllegalStateException("The worker must be connected to send and receive.");
        }
        return world;
    }

    /** Before a step. */
    void begin() {
        nextReceive = 0;
        fill();
    }

    private void fill() {
        while (started.size() < Lookahead.RECEIVES && nextReceive < tasks.size()) {
            if (tasks.get(nextReceive++) instanceof Task.Receive receive) {
                started.addLast(world().receive(
                                place.apply(receive), receive.fromRank(), tag(receivedByRank, receive.fromRank())));
            }
        }
    }

    /** The arrival of the next receive in the list; it may still be on its way. */
    Transfer receive() {
        Transfer arrival = started.removeFirst();
        fill();
        return arrival;
    }

    void send(Task.Send send, DeviceTensor tensor) {
        if (sends.size() == Lookahead.SENDS) {
            sends.removeFirst().await();
        }
        sends.addLast(world().send(tensor, send.toRank(), tag(sentByRank, send.toRank())));
    }

    /** Waits for all sends, as after a step. */
    void awaitSends() {
        while (!sends.isEmpty()) {
            sends.removeFirst().await();
        }
    }

    private static int tag(Map<Integer, Integer> countByRank, int rank) {
        return countByRank.merge(rank, 1, Integer::sum) % TAGS;
    }

    @Override
    public void close() {
        sends.clear();
        started.clear();
    }
}

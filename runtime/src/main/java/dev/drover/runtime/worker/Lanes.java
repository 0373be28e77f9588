package dev.drover.runtime.worker;

import dev.drover.plan.task.Task;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.PeerFailure;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The send and receive lanes of a worker, beside its compute lane.
 *
 * <p>Sends and receives are started by the compute lane in the order of its list and go on by themselves. The receive lane runs a
 * few receives ahead, so that values travel while earlier tasks compute; the send lane waits for the end of each send, and gives the
 * buffer back. Between two ranks the n-th send pairs with the n-th receive, by tag.
 */
final class Lanes implements AutoCloseable {

    /** How many receives are posted before the compute lane comes to them; each holds a buffer. */
    private static final int RECEIVES_AHEAD = 2;

    private static final int TAGS = 1 << 20;

    private final Device device;
    private final List<Task> tasks;
    private final @Nullable Communicator world;
    private final Map<Integer, Integer> sentByRank = new HashMap<>();
    private final Map<Integer, Integer> receivedByRank = new HashMap<>();
    private final ExecutorService sendLane;
    private final Deque<Future<?>> sends = new ArrayDeque<>();

    /** Receives started in this step and not yet come to, in order. */
    private final Deque<Values.Held> started = new ArrayDeque<>();

    private int nextReceive;

    Lanes(Device device, List<Task> tasks, @Nullable Communicator world, String name) {
        this.device = device;
        this.tasks = tasks;
        this.world = world;
        this.sendLane = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
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
        while (started.size() < RECEIVES_AHEAD && nextReceive < tasks.size()) {
            if (tasks.get(nextReceive++) instanceof Task.Receive receive) {
                DeviceTensor tensor = device.allocate(receive.shape());
                Transfer arrival = world().receive(tensor, receive.fromRank(), tag(receivedByRank, receive.fromRank()));
                started.addLast(new Values.Held(tensor, arrival));
            }
        }
    }

    /** The value of the next receive in the list; it may still be on its way. */
    Values.Held receive() {
        Values.Held held = started.removeFirst();
        fill();
        return held;
    }

    void send(Task.Send send, Values.Held held) {
        DeviceTensor tensor = held.tensor();
        Transfer transfer = world().send(tensor, send.toRank(), tag(sentByRank, send.toRank()));
        held.retain();
        sends.addLast(sendLane.submit(() -> {
            transfer.await();
            held.release();
        }));
        while (!sends.isEmpty() && sends.getFirst().isDone()) {
            finishOne();
        }
    }

    /** After a step: waits for all sends. */
    void end() {
        while (!sends.isEmpty()) {
            finishOne();
        }
    }

    private void finishOne() {
        try {
            sends.removeFirst().get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof PeerFailure failure) {
                throw failure;
            }
            throw new IllegalStateException("A send must end.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("The worker must not be interrupted.", e);
        }
    }

    private static int tag(Map<Integer, Integer> countByRank, int rank) {
        return countByRank.merge(rank, 1, Integer::sum) % TAGS;
    }

    @Override
    public void close() {
        sendLane.shutdownNow();
        started.forEach(Values.Held::release);
        started.clear();
    }
}

package dev.drover.plan.task;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Checks that a plan can run: every value is there when it is used and freed once, sends pair with receives, and workers that do one
 * task after the other and wait for the other side at each transfer never wait for each other in a circle. Workers that overlap
 * transfers with computing wait less.
 */
public final class ExecutionPlanChecker {
    private ExecutionPlanChecker() {}

    /** Fails with {@link IllegalArgumentException}, naming rank and task. */
    public static void check(ExecutionPlan plan) {
        for (int rank = 0; rank < plan.workers().size(); rank++) {
            WorkerPlan worker = plan.workers().get(rank);
            if (worker.rank() != rank || worker.device() < 0) {
                throw new IllegalArgumentException("The rank (" + worker.rank() + ") of worker (" + rank
                        + ") must be its position, and among its mesh's " + worker.meshRanks() + ".");
            }
            checkBuffers(plan, worker);
        }
        checkOrder(plan);
    }

    private static void checkBuffers(ExecutionPlan plan, WorkerPlan worker) {
        Set<BufferLife.Buffer> alive = new HashSet<>();
        for (Feed feed : worker.feeds()) {
            for (int m = 0; m < (feed.value().perMicroBatch() ? plan.microBatches() : 1); m++) {
                alive.add(BufferLife.Buffer.of(feed.value(), m));
            }
        }
        for (int i = 0; i < worker.tasks().size(); i++) {
            Task task = worker.tasks().get(i);
            int at = i;
            Supplier<String> where = () -> "task " + at + " (" + task + ") of rank " + worker.rank();
            for (BufferLife.Buffer buffer : BufferLife.reads(task, plan.programs())) {
                require(alive.contains(buffer), buffer, where, "be there");
                if (BufferLife.consumes(task)) {
                    alive.remove(buffer);
                }
            }
            for (BufferLife.Buffer buffer : BufferLife.writes(task, plan.programs())) {
                boolean fresh = alive.add(buffer);
                require(fresh || BufferLife.consumes(task), buffer, where, "be made once");
            }
            if (task instanceof Task.Free free) {
                BufferLife.Buffer buffer = BufferLife.Buffer.of(free.value(), free.microBatch());
                require(alive.remove(buffer), buffer, where, "be there to be freed");
            }
        }
        for (Fetch fetch : worker.fetches()) {
            BufferLife.Buffer buffer = BufferLife.Buffer.of(fetch.value(), -1);
            require(
                    alive.remove(buffer) || fetch.value().perMicroBatch(),
                    buffer,
                    () -> "the end of the step",
                    "be there");
        }
        for (Feed feed : worker.feeds()) {
            if (feed.persistent()) {
                alive.remove(BufferLife.Buffer.of(feed.value(), -1));
            }
        }
        Set<BufferLife.Buffer> unused = new HashSet<>();
        for (Feed feed : worker.feeds()) {
            for (int m = 0; m < plan.microBatches(); m++) {
                unused.add(BufferLife.Buffer.of(feed.value(), m));
            }
        }
        alive.removeAll(unused);
        if (!alive.isEmpty()) {
            throw new IllegalArgumentException(
                    "The buffers " + alive + " of rank " + worker.rank() + " must be freed.");
        }
    }

    private static void require(boolean holds, BufferLife.Buffer buffer, Supplier<String> where, String what) {
        if (!holds) {
            throw new IllegalArgumentException("The value (" + buffer.value() + ", micro-batch " + buffer.microBatch()
                    + ") of " + where.get() + " must " + what + ".");
        }
    }

    private static void checkOrder(ExecutionPlan plan) {
        int[] next = new int[plan.workers().size()];
        boolean moved = true;
        while (moved) {
            moved = false;
            for (WorkerPlan worker : plan.workers()) {
                while (next[worker.rank()] < worker.tasks().size() && step(plan, worker, next)) {
                    moved = true;
                }
            }
        }
        List<String> stuck = new ArrayList<>();
        for (WorkerPlan worker : plan.workers()) {
            int at = next[worker.rank()];
            if (at < worker.tasks().size()) {
                stuck.add("rank " + worker.rank() + " at " + worker.tasks().get(at));
            }
        }
        if (!stuck.isEmpty()) {
            throw new IllegalArgumentException(
                    "The plan must not deadlock, but these wait for each other: " + String.join("; ", stuck) + ".");
        }
    }

    /** Does the next task of a worker, and of the worker on the other side of a transfer. */
    private static boolean step(ExecutionPlan plan, WorkerPlan worker, int[] next) {
        Task task = worker.tasks().get(next[worker.rank()]);
        if (task instanceof Task.Receive) {
            return false; // done together with its send
        }
        if (task instanceof Task.Send send) {
            WorkerPlan other = plan.workers().get(send.toRank());
            int at = next[other.rank()];
            Task expected = new Task.Receive(send.value(), send.shape(), send.microBatch(), worker.rank());
            if (at >= other.tasks().size() || !other.tasks().get(at).equals(expected)) {
                return false;
            }
            next[other.rank()]++;
        } else if (task instanceof Task.Run run && worker.meshRanks().size() > 1) {
            if (worker.device() != 0 || !together(plan, worker, run, next)) {
                return false;
            }
            for (int rank : worker.meshRanks()) {
                next[rank] += rank == worker.rank() ? 0 : 1;
            }
        }
        next[worker.rank()]++;
        return true;
    }

    /** Programs may hold collectives: all devices of a mesh must come to them at once. */
    private static boolean together(ExecutionPlan plan, WorkerPlan worker, Task.Run run, int[] next) {
        for (int rank : worker.meshRanks()) {
            List<Task> tasks = plan.workers().get(rank).tasks();
            if (next[rank] >= tasks.size() || !tasks.get(next[rank]).equals(run)) {
                return false;
            }
        }
        return true;
    }
}

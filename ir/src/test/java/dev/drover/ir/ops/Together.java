package dev.drover.ir.ops;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Evaluates one computation on several devices in step, one thread each. */
final class Together {
    private final CyclicBarrier barrier;
    private final List<List<Value>> board = new ArrayList<>();

    private Together(int devices) {
        this.barrier = new CyclicBarrier(devices);
        for (int i = 0; i < devices; i++) {
            board.add(List.of());
        }
    }

    /** The result of each device, given the arguments of each. */
    static List<Value> run(Computation computation, List<? extends List<? extends Value>> argumentsByDevice)
            throws Exception {
        int devices = argumentsByDevice.size();
        Together together = new Together(devices);
        ExecutorService threads = Executors.newFixedThreadPool(devices);
        try {
            List<Callable<Value>> calls = new ArrayList<>();
            for (int d = 0; d < devices; d++) {
                List<Value> arguments = List.copyOf(argumentsByDevice.get(d));
                Evaluator.Devices device = together.device(d);
                calls.add(() -> Evaluator.run(computation, arguments, device));
            }
            List<Value> results = new ArrayList<>();
            for (Future<Value> future : threads.invokeAll(calls, 30, TimeUnit.SECONDS)) {
                try {
                    results.add(future.get());
                } catch (ExecutionException e) {
                    throw e.getCause() instanceof Exception cause ? cause : e;
                }
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }

    private Evaluator.Devices device(int device) {
        return new Evaluator.Devices() {
            @Override
            public int device() {
                return device;
            }

            @Override
            public int devices() {
                return board.size();
            }

            @Override
            public List<List<Value>> exchange(List<Value> mine) {
                synchronized (board) {
                    board.set(device, List.copyOf(mine));
                }
                await();
                List<List<Value>> all;
                synchronized (board) {
                    all = List.copyOf(board);
                }
                await();
                return all;
            }
        };
    }

    private void await() {
        try {
            barrier.await(20, TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }
}

package dev.drover.cli;

import com.sun.management.OperatingSystemMXBean;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.sim.MemoryUse;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.stream.Stream;

/** What this machine can run: workers that are too many for it are refused before they are started. */
final class ThisMachine {
    /** More threads than this for each processor only wait. */
    private static final int MOST_THREADS_A_PROCESSOR = 4;

    private static final long LOAD_MILLIS = 300;

    private ThisMachine() {}

    static long memoryBytes() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                ? system.getTotalMemorySize()
                : Runtime.getRuntime().maxMemory();
    }

    /** Share of the processors that is in use while this waits; 1 where that is not known. */
    static double processorLoad() {
        if (!(ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system)) {
            return 1;
        }
        double sinceStart = system.getCpuLoad();
        try {
            Thread.sleep(LOAD_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 1;
        }
        double load = system.getCpuLoad();
        return sinceStart < 0 || load < 0 ? 1 : load;
    }

    /** Fails with {@link UserError} where the workers of a plan would allocate more than there is; a plan may be for other machines. */
    static void checkMemory(List<MemoryUse> uses) {
        long bytes = uses.stream().mapToLong(MemoryUse::peakBytes).sum();
        check(
                bytes,
                memoryBytes(),
                uses.size() + (uses.size() == 1 ? " worker" : " workers"),
                "Maybe plan for this machine with --workers, or take a smaller model or batch.");
    }

    /** Fails with {@link UserError} where not even what goes into the unpartitioned step and comes out of it has room. */
    static void checkWhole(TrainingStep step) {
        long bytes = Stream.of(step.inputShapes(), step.outputShapes())
                .flatMap(List::stream)
                .mapToLong(ArrayShape::sizeBytes)
                .sum();
        check(
                bytes,
                memoryBytes(),
                "the unpartitioned model",
                "Maybe verify a smaller model of the same kind, or give what it computes with --expected.");
    }

    /** Apart from this machine, for tests. */
    static void check(long bytes, long thereAre, String what, String maybe) {
        if (bytes > thereAre) {
            throw new UserError(
                    "The memory (" + MemoryUse.text(bytes) + ") of " + what + " must be at most that of this machine ("
                            + MemoryUse.text(thereAre) + ").",
                    maybe);
        }
    }

    /**
     * Fails with {@link UserError} where threads are more than the machine's processors can serve.
     *
     * @param what they are of, such as {@code of a worker}
     */
    static void checkThreads(int threads, String what) {
        int most = MOST_THREADS_A_PROCESSOR * Runtime.getRuntime().availableProcessors();
        if (threads > most) {
            throw new UserError(
                    "The threads (" + threads + ") " + what + " must be at most " + most + ", "
                            + MOST_THREADS_A_PROCESSOR + " for each processor of this machine.",
                    "Maybe leave out --threads.");
        }
    }

    /**
     * Tells where workers have more threads, all together, than there are processors. Workers of one thread each are what a cluster of
     * more devices than processors asks for.
     *
     * @param threads of each worker; 0 for a fair share
     */
    static void tellIfCrowded(int workers, int threads) {
        int processors = Runtime.getRuntime().availableProcessors();
        if (threads > 1 && (long) workers * threads > processors) {
            Output.progress("the threads (" + workers + " workers of " + threads + ") are more than the processors ("
                    + processors + ") of this machine, so they wait for each other; without --threads each worker has "
                    + Workers.fairThreads(workers));
        }
    }
}

package dev.drover.plan.sim;

import dev.drover.plan.task.Program;
import java.util.List;

/** How long programs take on devices; the planner's cost model implements it. */
public interface ProgramCost {

    /** One run of a program on the devices of a mesh, which run it in step. */
    ProgramTime time(Program program, List<Integer> meshRanks);

    /** Time of a pass over so many bytes of memory (accumulating, stacking). */
    long memoryNanos(int rank, long bytes);

    /** What a message of so many bytes costs the computing of the device that sends it; 0 where its network does all the work. */
    default long sendNanos(long bytes) {
        return 0;
    }

    /**
     * Durations in nanoseconds.
     *
     * @param computeNanos on the device itself
     * @param collectiveNanos waiting for collectives, not hidden by computing
     * @param collectiveWorkNanos that all collectives, hidden or not, take of the time of computing; counts as work, not as time
     */
    record ProgramTime(long computeNanos, long collectiveNanos, long collectiveWorkNanos) {
        public long totalNanos() {
            return computeNanos + collectiveNanos;
        }
    }
}

package dev.drover.plan.text;

import dev.drover.ir.UserError;
import dev.drover.plan.Wanted;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One set of decisions about one model on one cluster, as it is stored. Decisions are reused on load; costs are for reading, and are
 * always computed anew.
 *
 * @param gatherPerPhase whether values that another sharding makes larger are brought there by each program that uses them, which takes
 *     less memory, and not once where they are made
 * @param strategies by name of the cut step's instruction: a factor's name per axis, {@code -} for replicated, {@code +g} where a
 *     partial sum passes through linear group g; instructions that are replicated along all axes are left out
 * @param stageRuns stages of the cut step's instructions, run by run in order
 */
public record Plan(
        int version,
        ModelId model,
        Cluster cluster,
        int stages,
        Mesh mesh,
        int microBatches,
        String schedule,
        boolean gatherPerPhase,
        List<StageRun> stageRuns,
        SortedMap<String, String> strategies,
        @Nullable Prediction predicted,
        @Nullable Certificate certificate,
        List<Candidate> candidates) {
    /** The version that this program writes and reads. */
    public static final int VERSION = 3;

    public Plan {
        stageRuns = List.copyOf(stageRuns);
        strategies = java.util.Collections.unmodifiableSortedMap(new TreeMap<>(strategies));
        candidates = List.copyOf(candidates);
        Wanted.atLeast("microBatches", microBatches, 1);
        Wanted.atLeast("stages", stages, 1);
        Wanted.atLeast("model.instructions", model.instructions(), 1);
        Schedules.byName(schedule);
        long devices = (long) stages * mesh.devices();
        if (devices != cluster.devices()) {
            throw new UserError("The stages (" + stages + ") times the devices of the mesh (" + mesh + ") must be the "
                    + cluster.devices() + " devices of its cluster (" + cluster.name() + ").");
        }
        for (int i = 0; i < stageRuns.size(); i++) {
            StageRun run = stageRuns.get(i);
            if (run.stage() < 0 || run.stage() >= stages) {
                throw new UserError("The stageRuns[" + i + "].stage (" + run.stage()
                        + ") must be at least 0 and below the number of stages (" + stages + ").");
            }
            Wanted.atLeast("stageRuns[" + i + "].count", run.count(), 1);
        }
        for (Map.Entry<String, String> entry : strategies.entrySet()) {
            if (StrategyText.byAxis(entry.getValue()).length != mesh.rank()) {
                throw new UserError("The strategies." + entry.getKey() + " (" + entry.getValue()
                        + ") must say one thing for each of the " + mesh.rank() + " axes of mesh " + mesh + ".");
            }
        }
    }

    /** Names of the mesh axes of more than one device along which nothing is cut: the devices along them all do the same. */
    public List<String> unusedAxes() {
        List<String> unused = new ArrayList<>();
        for (int i = 0; i < mesh.rank(); i++) {
            int axis = i;
            boolean used = strategies.values().stream()
                    .anyMatch(text -> !StrategyText.byAxis(text)[axis].equals(StrategyText.REPLICATED));
            if (!used && mesh.size(axis) > 1) {
                unused.add(mesh.axes().get(axis).name());
            }
        }
        return unused;
    }

    /**
     * Which model a plan is for.
     *
     * @param source the file or zoo name that it was planned from
     * @param fingerprint of the flat graph: equal graphs, equal fingerprints
     */
    public record ModelId(String source, String fingerprint, int instructions) {}

    /** The next {@code count} instructions are on stage {@code stage} in phase {@code phase}. */
    public record StageRun(int stage, Phase phase, int count) {}

    /**
     * What a step is expected to take; times in nanoseconds, on the device that takes longest.
     *
     * @param memory by device
     */
    public record Prediction(
            long stepTimeNanos,
            long computeNanos,
            long collectiveNanos,
            long pointToPointNanos,
            long bubbleNanos,
            List<DeviceMemory> memory) {
        public Prediction {
            memory = List.copyOf(memory);
            Wanted.atLeast("stepTimeNanos", stepTimeNanos, 0);
            Wanted.atLeast("computeNanos", computeNanos, 0);
            Wanted.atLeast("collectiveNanos", collectiveNanos, 0);
            Wanted.atLeast("pointToPointNanos", pointToPointNanos, 0);
            Wanted.atLeast("bubbleNanos", bubbleNanos, 0);
        }
    }

    /** Peak memory of one device and its parts at the peak, in bytes; the parts add up to the peak. */
    public record DeviceMemory(int device, int stage, long peakBytes, SortedMap<String, Long> partsBytes) {
        public DeviceMemory {
            partsBytes = java.util.Collections.unmodifiableSortedMap(new TreeMap<>(partsBytes));
            Wanted.atLeast("device", device, 0);
            Wanted.atLeast("stage", stage, 0);
            Wanted.atLeast("peakBytes", peakBytes, 0);
            partsBytes.forEach((part, bytes) -> Wanted.atLeast("partsBytes." + part, bytes, 0));
        }
    }

    /**
     * What is known of how good the plan is.
     *
     * @param objectiveNanos of the strategy solver, in a step
     * @param lowerBoundNanos that it proved for the chosen layout
     * @param cutShort whether the search was ended by the clock, so that another run may find another plan
     */
    public record Certificate(long objectiveNanos, long lowerBoundNanos, double gap, boolean cutShort) {
        public Certificate {
            Wanted.atLeast("objectiveNanos", objectiveNanos, 0);
        }
    }

    /** A whole plan that was judged; {@code rejected} says why it was not taken, or is empty for the chosen one. */
    public record Candidate(
            int stages,
            String mesh,
            int microBatches,
            String schedule,
            long stepTimeNanos,
            long peakMemoryBytes,
            String rejected) {
        public Candidate {
            Wanted.atLeast("stages", stages, 1);
            Wanted.atLeast("microBatches", microBatches, 1);
            Wanted.atLeast("stepTimeNanos", stepTimeNanos, 0);
            Wanted.atLeast("peakMemoryBytes", peakMemoryBytes, 0);
        }
    }

    public int devices() {
        return stages * mesh.devices();
    }
}

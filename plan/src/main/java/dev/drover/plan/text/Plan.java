package dev.drover.plan.text;

import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.List;
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
    public static final int VERSION = 2;

    public Plan {
        stageRuns = List.copyOf(stageRuns);
        strategies = java.util.Collections.unmodifiableSortedMap(new TreeMap<>(strategies));
        candidates = List.copyOf(candidates);
    }

    /** Names of the mesh axes of more than one device along which nothing is cut: the devices along them all do the same. */
    public List<String> unusedAxes() {
        List<String> unused = new ArrayList<>();
        for (int i = 0; i < mesh.rank(); i++) {
            int axis = i;
            boolean used = strategies.values().stream()
                    .anyMatch(text -> !text.split(" ")[axis].equals(StrategyText.REPLICATED));
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
        }
    }

    /** Peak memory of one device and its parts at the peak, in bytes; the parts add up to the peak. */
    public record DeviceMemory(int device, int stage, long peakBytes, SortedMap<String, Long> partsBytes) {
        public DeviceMemory {
            partsBytes = java.util.Collections.unmodifiableSortedMap(new TreeMap<>(partsBytes));
        }
    }

    /**
     * What is known of how good the plan is.
     *
     * @param objectiveNanos of the strategy solver, in a step
     * @param lowerBoundNanos that it proved for the chosen layout
     * @param cutShort whether the search was ended by the clock, so that another run may find another plan
     */
    public record Certificate(long objectiveNanos, long lowerBoundNanos, double gap, boolean cutShort) {}

    /** A whole plan that was judged; {@code rejected} says why it was not taken, or is empty for the chosen one. */
    public record Candidate(
            int stages,
            String mesh,
            int microBatches,
            String schedule,
            long stepTimeNanos,
            long peakMemoryBytes,
            String rejected) {}

    public int devices() {
        return stages * mesh.devices();
    }
}

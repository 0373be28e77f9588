package dev.drover.planner.search;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.sim.Simulator;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.ProgramRoofline;
import dev.drover.planner.cost.Roofline;
import dev.drover.planner.pipeline.StagePlanner;
import dev.drover.planner.search.Verdict.Judged;
import dev.drover.planner.search.Verdict.Refused;
import dev.drover.planner.spmd.MeshPrices;
import dev.drover.planner.spmd.StepShardings;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Judges one layout after another. What several have in common is made once: the cut along time, the stages, the prices of a mesh. What
 * cannot win is given up before the expensive parts:
 *
 * <pre>
 *   cut -> all devices -> stages -> prices -> memory floor -> compute bound -> shardings -> lowering -> simulation
 *          too small?                         too large?      not faster?
 * </pre>
 */
final class LayoutJudge {
    private static final int MEMORY_ROUNDS = 4;
    /** Of the strategy solver for one problem; about one second, but counted, so that the answer does not depend on the machine. */
    private static final long SOLVER_WORK = 300_000_000;

    private static final double TARGET_GAP = 0.01;
    /** Bytes by the solver's count over those of a device that leave no hope that the simulator's count fits. */
    private static final double CLEARLY = 1.1;
    /** Least bytes over those of a device from which on the fastest shardings are not looked for. */
    private static final double NEARLY = 0.9;

    private final TrainingStep step;
    private final Cluster cluster;
    private final DeviceMemory memory;
    private final long seed;
    private final DoubleSupplier secondsLeft;
    private final long memoryBytes;
    private final Map<String, Once<CutStep>> cutByKey = new HashMap<>();
    private final Map<String, Once<StageAssignment>> assignmentByKey = new HashMap<>();
    private final long stateBytes;
    private final IdentityHashMap<CutStep, Long> waitingBytesByCut = new IdentityHashMap<>();
    private final Map<Mesh, MeshPrices> pricesByMesh = new HashMap<>();

    /**
     * A judge of the layouts of one step.
     *
     * @param step flat
     * @param secondsLeft when to give up; as a last resort only, because what depends on it is not the same on every machine
     */
    LayoutJudge(TrainingStep step, Cluster cluster, DeviceMemory memory, long seed, DoubleSupplier secondsLeft) {
        this.step = step;
        this.cluster = cluster;
        this.memory = memory;
        this.seed = seed;
        this.secondsLeft = secondsLeft;
        this.memoryBytes = leastMemoryBytes(cluster);
        this.stateBytes = MemoryFloor.stateBytes(step);
    }

    private static long ceilDiv(long bytes, int devices) {
        return (bytes + devices - 1) / devices;
    }

    private static long leastMemoryBytes(Cluster cluster) {
        long least = Long.MAX_VALUE;
        for (int device = 0; device < cluster.devices(); device++) {
            least = Math.min(least, cluster.deviceType(device).memoryBytes());
        }
        return least;
    }

    /**
     * Judges a layout.
     *
     * @param best the fastest so far, if there is one
     * @throws dev.drover.ir.UserError if the step cannot be cut in this way
     */
    Verdict judge(Layout layout, @Nullable Judged best) {
        CutStep cut = cutByKey.computeIfAbsent(
                        layout.microBatches() + " " + (layout.stages() > 1),
                        key -> Once.of(() -> PlanCompiler.cut(step, layout.microBatches(), layout.stages())))
                .get();
        Refused noRoom = noRoom(layout, waitingBytesByCut.computeIfAbsent(cut, MemoryFloor::waitingBytes));
        if (noRoom != null) {
            return noRoom;
        }
        StageAssignment assignment = assignmentByKey
                .computeIfAbsent(
                        layout.microBatches() + " " + layout.stages(),
                        key -> Once.of(
                                () -> StagePlanner.plan(cut, layout.stages()).assignment()))
                .get();
        MeshPrices prices = pricesByMesh.computeIfAbsent(
                layout.mesh(),
                mesh -> new MeshPrices(
                        new Roofline(cluster.deviceType(0), cluster.measured()),
                        new Resharder(mesh, new MeshCollectives(cluster, mesh, 0))));
        StepShardings shardings = new StepShardings(cut, assignment, Schedules.byName(layout.schedule()), prices);
        List<Long> leastBytesByStage = shardings.leastBytesByStage();
        Refused tooLarge = tooLarge(layout, leastBytesByStage);
        if (tooLarge != null) {
            return tooLarge;
        }
        // Measured devices are priced by kernels, which take less than their instructions one by one.
        double leastNanos = cluster.measured().equals(Measured.NONE) ? shardings.leastNanos() : 0;
        if (best != null && leastNanos >= best.simulated().stepNanos()) {
            return new Refused(
                    layout,
                    String.format(Locale.ROOT, "cannot be faster: computing alone takes %.3f ms", leastNanos / 1e6),
                    0);
        }
        return new Trial(layout, cut, assignment, shardings, prices.resharder()).judge(most(leastBytesByStage));
    }

    /** What was made, or why it cannot be. */
    private record Once<T>(@Nullable T made, @Nullable UserError refused) {
        static <T> Once<T> of(Supplier<T> making) {
            try {
                return new Once<>(making.get(), null);
            } catch (UserError e) {
                return new Once<>(null, e);
            }
        }

        T get() {
            if (made == null) {
                throw refused == null ? new IllegalStateException("It must be made or refused.") : refused;
            }
            return made;
        }
    }

    /** Where all devices together are too small, which stage has what does not matter. */
    private @Nullable Refused noRoom(Layout layout, long waitingBytes) {
        int devices = layout.stages() * layout.mesh().devices();
        long least = ceilDiv(stateBytes + waitingBytes, devices);
        if (least <= memoryBytes) {
            return null;
        }
        return new Refused(
                layout,
                "The memory of each stage's devices must be at least " + MemoryUse.text(least)
                        + ", even if parameters and optimizer state (" + MemoryUse.text(stateBytes)
                        + ") and what a micro-batch leaves for its backward pass (" + MemoryUse.text(waitingBytes)
                        + ") are spread over all " + devices + ", but is " + MemoryUse.text(memoryBytes) + "; "
                        + MemoryUse.text(least - memoryBytes) + " are missing.",
                least - memoryBytes);
    }

    /**
     * Refuses a cluster on which nothing can fit, before any search.
     *
     * @throws UserError that says what is missing
     */
    void checkState() {
        int devices = cluster.devices();
        long least = ceilDiv(stateBytes, devices);
        if (least > memoryBytes) {
            throw new UserError(
                    "The memory of cluster (" + cluster.name()
                            + ") must suffice for the parameters and optimizer state of step ("
                            + step.graph().name() + "): " + MemoryUse.text(stateBytes) + " are at least "
                            + MemoryUse.text(least) + " on a device of some stage, which has "
                            + MemoryUse.text(memoryBytes) + "; " + MemoryUse.text(least - memoryBytes)
                            + " are missing.",
                    "Maybe use more than " + stateBytes / memoryBytes + " such devices.");
        }
    }

    private @Nullable Refused tooLarge(Layout layout, List<Long> leastBytesByStage) {
        long most = most(leastBytesByStage);
        if (most <= memoryBytes) {
            return null;
        }
        int stage = leastBytesByStage.indexOf(most);
        return new Refused(
                layout,
                "The memory of stage (" + stage + ") must be at least " + MemoryUse.text(most) + " per device, however"
                        + " it is sharded, but is " + MemoryUse.text(memoryBytes) + "; "
                        + MemoryUse.text(most - memoryBytes) + " are missing.",
                most - memoryBytes);
    }

    private static long most(List<Long> bytesByStage) {
        return bytesByStage.stream().max(Long::compare).orElse(0L);
    }

    private SolveOptions solveOptions() {
        return SolveOptions.ofSeconds(Math.max(1, secondsLeft.getAsDouble()))
                .withWorkLimit(SOLVER_WORK)
                .withSeed(seed)
                .withTargetGap(TARGET_GAP);
    }

    /** The expensive parts for one layout. */
    private final class Trial {
        private final Layout layout;
        private final CutStep cut;
        private final StageAssignment assignment;
        private final StepShardings shardings;
        private final Resharder resharder;

        Trial(Layout layout, CutStep cut, StageAssignment assignment, StepShardings shardings, Resharder resharder) {
            this.layout = layout;
            this.cut = cut;
            this.assignment = assignment;
            this.shardings = shardings;
            this.resharder = resharder;
        }

        /**
         * The fastest shardings if these fit the memory, else those found under a limit that is lowered until they do.
         *
         * @param leastBytes below which no limit can be kept
         */
        Verdict judge(long leastBytes) {
            // Where even the smallest pieces nearly fill a device, the fastest shardings do not fit.
            Judged best = leastBytes > memoryBytes * NEARLY ? null : fastest();
            if (best != null && best.fits()) {
                return best;
            }
            long limit = memoryBytes;
            for (int round = 0; round < MEMORY_ROUNDS && limit >= leastBytes; round++) {
                StepShardings.Found found = shardings.find(limit, solveOptions());
                if (found.solution().choices().isEmpty()) {
                    break;
                }
                Judged now = simulate(found, true);
                if (best == null || now.fits() || now.peakBytes() < best.peakBytes()) {
                    best = now;
                }
                if (now.fits()) {
                    break;
                }
                // What the solver does not see (copies around collectives, buffers in flight) must fit too.
                long excess = now.peakBytes() - memoryBytes;
                limit = Math.min(limit - excess, found.solution().peakUsage() - excess);
            }
            return best == null ? unlimited() : best;
        }

        /** Null if it is clearly too large by the solver's count of memory, so that it need not be lowered. */
        private @Nullable Judged fastest() {
            StepShardings.Found free = shardings.find(StrategyProblem.UNLIMITED, solveOptions());
            boolean large =
                    free.solution().choices().isEmpty() || free.solution().peakUsage() > memoryBytes * CLEARLY;
            return large ? null : simulate(free, false);
        }

        private Verdict unlimited() {
            StepShardings.Found free = shardings.find(StrategyProblem.UNLIMITED, solveOptions());
            return free.solution().choices().isEmpty()
                    ? new Refused(
                            layout, "no shardings found: " + free.solution().explanation(), 0)
                    : simulate(free, false);
        }

        /** With values gathered where they are made, or if that is too large, in each phase that uses them. */
        private Judged simulate(StepShardings.Found found, boolean memoryBinds) {
            Judged once = simulate(found, false, memoryBinds);
            if (once.fits()) {
                return once;
            }
            Judged perPhase = simulate(found, true, true);
            return perPhase.peakBytes() < once.peakBytes() ? perPhase : once;
        }

        private Judged simulate(StepShardings.Found found, boolean gatherPerPhase, boolean memoryBinds) {
            ExecutionPlan execution = PlanCompiler.compile(
                    cut, assignment, found.decisions(), resharder, layout.schedule(), gatherPerPhase);
            SimulatedStep simulated =
                    Simulator.simulate(execution, cluster, new ProgramRoofline(cluster, memory), memory);
            return new Judged(layout, cut, assignment, found, execution, simulated, gatherPerPhase, memoryBinds);
        }
    }
}

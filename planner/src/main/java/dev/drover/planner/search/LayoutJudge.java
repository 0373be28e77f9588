package dev.drover.planner.search;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Collective;
import dev.drover.ir.type.Shape;
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
import dev.drover.plan.task.LocalStep;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.ProgramRoofline;
import dev.drover.planner.cost.Roofline;
import dev.drover.planner.pipeline.StagePlanner;
import dev.drover.planner.search.Verdict.Judged;
import dev.drover.planner.search.Verdict.Refused;
import dev.drover.planner.search.Verdict.Slower;
import dev.drover.planner.spmd.ComputeFloor;
import dev.drover.planner.spmd.MeshPrices;
import dev.drover.planner.spmd.StepShardings;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Judges one layout after another. What several have in common is made once: the cut along time, the stages, the prices of a mesh. What
 * cannot win is given up before the expensive parts:
 *
 * <pre>
 *   cut -> all devices -> stages -> prices -> memory floor -> compute floor -> shardings -> lowering -> compute floor -> simulation
 *          too small?                         too large?      not faster?                              not faster?
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
    private final Roofline roofline;
    private final boolean isMeasured;
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
        this.roofline = new Roofline(cluster.deviceType(0), cluster.measured());
        this.isMeasured = !cluster.measured().equals(Measured.NONE);
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

    /** What is known of a layout before its shardings are searched. */
    sealed interface Prospect {
        /** Why it cannot be. */
        record Hopeless(Refused verdict) implements Prospect {}

        /**
         * It may be.
         *
         * @param leastBytes that a device of some stage needs
         * @param leastNanos that computing alone takes; 0 where devices were measured, because they are priced by kernels, which take
         *     less than their instructions one by one
         */
        record Open(
                Layout layout,
                CutStep cut,
                StageAssignment assignment,
                StepShardings shardings,
                Resharder resharder,
                long leastBytes,
                double leastNanos)
                implements Prospect {}
    }

    /** Judges a layout by itself. */
    Verdict judge(Layout layout) {
        Prospect prospect = prospect(layout);
        return prospect instanceof Prospect.Open open ? judge(open, null) : ((Prospect.Hopeless) prospect).verdict();
    }

    /**
     * Cheap bounds of a layout.
     *
     * @throws dev.drover.ir.UserError if the step cannot be cut in this way
     */
    Prospect prospect(Layout layout) {
        CutStep cut = cutByKey.computeIfAbsent(
                        layout.microBatches() + " " + (layout.stages() > 1),
                        key -> Once.of(() -> PlanCompiler.cut(step, layout.microBatches(), layout.stages())))
                .get();
        Refused noRoom = noRoom(layout, waitingBytesByCut.computeIfAbsent(cut, MemoryFloor::waitingBytes));
        if (noRoom != null) {
            return new Prospect.Hopeless(noRoom);
        }
        StageAssignment assignment = assignmentByKey
                .computeIfAbsent(
                        layout.microBatches() + " " + layout.stages(),
                        key -> Once.of(
                                () -> StagePlanner.plan(cut, layout.stages()).assignment()))
                .get();
        MeshPrices prices = pricesByMesh.computeIfAbsent(
                layout.mesh(),
                mesh -> new MeshPrices(roofline, new Resharder(mesh, new MeshCollectives(cluster, mesh, 0))));
        StepShardings shardings = new StepShardings(cut, assignment, Schedules.byName(layout.schedule()), prices);
        List<Long> leastBytesByStage = shardings.leastBytesByStage();
        Refused tooLarge = tooLarge(layout, leastBytesByStage);
        if (tooLarge != null) {
            return new Prospect.Hopeless(tooLarge);
        }
        double leastNanos = isMeasured ? 0 : shardings.leastNanos();
        return new Prospect.Open(
                layout, cut, assignment, shardings, prices.resharder(), most(leastBytesByStage), leastNanos);
    }

    /**
     * Judges a layout.
     *
     * @param best the fastest so far, if there is one
     */
    Verdict judge(Prospect.Open layout, @Nullable Judged best) {
        if (best != null && layout.leastNanos() >= best.simulated().stepNanos()) {
            return Slower.of(layout.layout(), layout.leastNanos(), false);
        }
        return new Trial(layout, best).judge();
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
        private final Prospect.Open open;
        /** Nanoseconds from which on a layout is no better than the best; infinite if there is none. */
        private final double nanosToBeat;

        Trial(Prospect.Open open, @Nullable Judged best) {
            this.open = open;
            this.nanosToBeat =
                    best == null ? Double.POSITIVE_INFINITY : best.simulated().stepNanos();
        }

        /** The fastest shardings if these fit the memory, else those found under a limit that is lowered until they do. */
        Verdict judge() {
            // Where even the smallest pieces nearly fill a device, the fastest shardings do not fit.
            Verdict first = open.leastBytes() > memoryBytes * NEARLY ? null : fastest();
            if (first instanceof Slower) {
                return first;
            }
            Judged best = (Judged) first;
            if (best != null && best.fits()) {
                return best;
            }
            long limit = memoryBytes;
            for (int round = 0; round < MEMORY_ROUNDS && limit >= open.leastBytes(); round++) {
                StepShardings.Found found = open.shardings().find(limit, solveOptions());
                if (found.solution().choices().isEmpty()) {
                    break;
                }
                Verdict verdict = simulate(found, true);
                if (!(verdict instanceof Judged now)) {
                    return verdict;
                }
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
        private @Nullable Verdict fastest() {
            StepShardings.Found free = open.shardings().find(StrategyProblem.UNLIMITED, solveOptions());
            boolean large =
                    free.solution().choices().isEmpty() || free.solution().peakUsage() > memoryBytes * CLEARLY;
            return large ? null : simulate(free, false);
        }

        private Verdict unlimited() {
            StepShardings.Found free = open.shardings().find(StrategyProblem.UNLIMITED, solveOptions());
            return free.solution().choices().isEmpty()
                    ? new Refused(
                            open.layout(),
                            "no shardings found: " + free.solution().explanation(),
                            0)
                    : simulate(free, false);
        }

        /** With values gathered where they are made, or if that is too large, in each phase that uses them. */
        private Verdict simulate(StepShardings.Found found, boolean memoryBinds) {
            Verdict first = simulate(found, false, memoryBinds);
            if (!(first instanceof Judged once) || once.fits()) {
                return first;
            }
            Verdict second = simulate(found, true, true);
            return !(second instanceof Judged perPhase) || perPhase.peakBytes() < once.peakBytes() ? second : first;
        }

        private Verdict simulate(StepShardings.Found found, boolean gatherPerPhase, boolean memoryBinds) {
            LocalStep local = PlanCompiler.lower(
                    open.cut(), open.assignment(), found.decisions(), open.resharder(), gatherPerPhase);
            double leastNanos = nanosToBeat < Double.POSITIVE_INFINITY && !isMeasured ? leastNanos(local) : 0;
            if (leastNanos >= nanosToBeat) {
                return Slower.of(open.layout(), leastNanos, memoryBinds);
            }
            ExecutionPlan execution =
                    PlanCompiler.build(local, open.assignment(), open.layout().schedule());
            SimulatedStep simulated =
                    Simulator.simulate(execution, cluster, new ProgramRoofline(cluster, memory), memory);
            if (!simulated.fits() && simulated.stepNanos() >= nanosToBeat) {
                return Slower.withoutFitting(open.layout(), simulated.stepNanos(), memoryBinds);
            }
            return new Judged(
                    open.layout(),
                    open.cut(),
                    open.assignment(),
                    found,
                    execution,
                    simulated,
                    gatherPerPhase,
                    memoryBinds);
        }

        /** Of computing what these shardings come to. */
        private double leastNanos(LocalStep local) {
            // What programs hand to each other they take as parameters.
            Map<Shape, Double> nanosByShape = new HashMap<>();
            ComputationBuilder parameters = new ComputationBuilder("fed");
            return ComputeFloor.nanos(
                    local.computation(),
                    local.freeValues(),
                    open.assignment().stages(),
                    open.cut().microBatches(),
                    id -> {
                        int made = local.cutIdById().get(id);
                        return ComputeFloor.part(
                                open.assignment().stage(made), open.assignment().phase(made));
                    },
                    instruction -> instruction.op() instanceof Collective ? 0 : roofline.localNanos(instruction),
                    value -> nanosByShape.computeIfAbsent(
                            value.shape(), shape -> roofline.localNanos(parameters.parameter("fed", shape))));
        }
    }
}

package dev.drover.planner.search;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Collective;
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
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Judges layouts. What several have in common is made once: the cut along time, the stages, the prices of a mesh. What
 * cannot win is given up before the expensive parts:
 *
 * <pre>
 *   cut -> all devices -> stages -> prices -> memory floor -> compute floor -> shardings -> lowering -> compute floor -> simulation
 *          too small?                         too large?      not faster?                              not faster?
 * </pre>
 *
 * {@link #prospect} and {@link #fastest} depend on their layout alone and may be asked for by several threads.
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
    private final Map<String, Once<Cut>> cutByKey = new ConcurrentHashMap<>();
    private final Map<String, Once<StageAssignment>> assignmentByKey = new ConcurrentHashMap<>();
    private final long stateBytes;
    /** Whoever uses the prices or the resharder of a mesh locks the prices. */
    private final Map<Mesh, MeshPrices> pricesByMesh = new ConcurrentHashMap<>();

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
                MeshPrices prices,
                long leastBytes,
                double leastNanos)
                implements Prospect {}
    }

    /**
     * The fastest shardings of a layout, whatever the memory.
     *
     * @param local what they come to; null if they are clearly too large by the solver's count of memory
     * @param leastNanos that computing it alone takes; 0 where devices were measured
     */
    record Fastest(StepShardings.Found found, @Nullable LocalStep local, double leastNanos) {}

    private record Cut(CutStep step, long waitingBytes) {}

    /** Judges a layout by itself. */
    Verdict judge(Layout layout) {
        Prospect prospect = prospect(layout);
        return prospect instanceof Prospect.Open open
                ? judge(open, fastest(open), null)
                : ((Prospect.Hopeless) prospect).verdict();
    }

    /**
     * Cheap bounds of a layout.
     *
     * @throws dev.drover.ir.UserError if the step cannot be cut in this way
     */
    Prospect prospect(Layout layout) {
        Cut cut = cutOnce(layout).get();
        Refused noRoom = noRoom(layout, cut.waitingBytes());
        if (noRoom != null) {
            return new Prospect.Hopeless(noRoom);
        }
        StageAssignment assignment = assignmentByKey
                .computeIfAbsent(
                        layout.microBatches() + " " + layout.stages(),
                        key -> Once.of(() ->
                                StagePlanner.plan(cut.step(), layout.stages()).assignment()))
                .get();
        MeshPrices prices = pricesByMesh.computeIfAbsent(
                layout.mesh(),
                mesh -> new MeshPrices(roofline, new Resharder(mesh, new MeshCollectives(cluster, mesh, 0))));
        StepShardings shardings =
                new StepShardings(cut.step(), assignment, Schedules.byName(layout.schedule()), prices);
        synchronized (prices) {
            List<Long> leastBytesByStage = shardings.leastBytesByStage();
            Refused tooLarge = tooLarge(layout, leastBytesByStage);
            if (tooLarge != null) {
                return new Prospect.Hopeless(tooLarge);
            }
            double leastNanos = isMeasured ? 0 : shardings.leastNanos();
            return new Prospect.Open(
                    layout, cut.step(), assignment, shardings, prices, most(leastBytesByStage), leastNanos);
        }
    }

    private Once<Cut> cutOnce(Layout layout) {
        return cutByKey.computeIfAbsent(
                layout.microBatches() + " " + (layout.stages() > 1), key -> Once.of(() -> cut(layout)));
    }

    private Cut cut(Layout layout) {
        CutStep cut = PlanCompiler.cut(step, layout.microBatches(), layout.stages());
        return new Cut(cut, MemoryFloor.waitingBytes(cut));
    }

    /** The fastest shardings of a layout; null where even the smallest pieces nearly fill a device, so that they do not fit. */
    @Nullable
    Fastest fastest(Prospect.Open open) {
        return open.leastBytes() > memoryBytes * NEARLY ? null : free(open);
    }

    private Fastest free(Prospect.Open open) {
        synchronized (open.prices()) {
            StepShardings.Found found = open.shardings().find(StrategyProblem.UNLIMITED, solveOptions());
            if (found.solution().choices().isEmpty() || found.solution().peakUsage() > memoryBytes * CLEARLY) {
                return new Fastest(found, null, 0);
            }
            LocalStep local = lower(open, found, false);
            return new Fastest(found, local, leastNanos(open, local));
        }
    }

    private static LocalStep lower(Prospect.Open open, StepShardings.Found found, boolean gatherPerPhase) {
        synchronized (open.prices()) {
            return PlanCompiler.lower(
                    open.cut(),
                    open.assignment(),
                    found.decisions(),
                    open.prices().resharder(),
                    gatherPerPhase);
        }
    }

    /** Nanoseconds of computing alone what some shardings come to. */
    private double leastNanos(Prospect.Open open, LocalStep local) {
        if (isMeasured) {
            return 0;
        }
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
                instruction -> instruction.op() instanceof Collective ? 0 : roofline.localNanos(instruction));
    }

    /**
     * Judges a layout.
     *
     * @param fastest its fastest shardings, see {@link #fastest}
     * @param best the fastest layout so far, if there is one
     */
    Verdict judge(Prospect.Open layout, @Nullable Fastest fastest, @Nullable Judged best) {
        return new Trial(layout, fastest, best).judge();
    }

    /** Why a layout cannot be faster than the best so far, by its cheap bound; null if it can be. */
    static @Nullable Slower slower(Prospect.Open layout, @Nullable Judged best) {
        return best != null && layout.leastNanos() >= best.simulated().stepNanos()
                ? Slower.of(layout.layout(), layout.leastNanos(), false)
                : null;
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
                "The memory of "
                        + (layout.stages() == 1
                                ? "stage (0)"
                                : "each of the stages (0 to " + (layout.stages() - 1) + ")")
                        + " must be at least " + MemoryUse.text(least)
                        + " per device, even if parameters and optimizer state (" + MemoryUse.text(stateBytes)
                        + ") and what a micro-batch leaves for its backward pass (" + MemoryUse.text(waitingBytes)
                        + ") are spread evenly over "
                        + (devices == 1 ? "its only device" : "all " + devices + " devices")
                        + ", but is " + MemoryUse.text(memoryBytes) + "; " + MemoryUse.text(least - memoryBytes)
                        + " are missing" + (layout.stages() == 1 ? "." : " on each."),
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
            String share = devices == 1
                    ? " on the only device, of stage (0), which has "
                    : " in all, so " + MemoryUse.text(least) + " on each device of stage (0), and of any other, if"
                            + " spread evenly over all " + devices + ", each of which has ";
            throw new UserError(
                    "The memory of cluster (" + cluster.name()
                            + ") must suffice for the parameters and optimizer state of step ("
                            + step.graph().name() + "): " + MemoryUse.text(stateBytes) + share
                            + MemoryUse.text(memoryBytes) + "; " + MemoryUse.text(least - memoryBytes)
                            + " are missing" + (devices == 1 ? "." : " on each."),
                    "Maybe use more than " + stateBytes / memoryBytes + " such devices.");
        }
    }

    /**
     * Refuses a step that can be cut for none of the layouts.
     *
     * @throws UserError the reason of the one with the fewest micro-batches
     */
    void checkCuts(List<Layout> layouts) {
        List<Layout> fewest = layouts.stream()
                .sorted(Comparator.comparingInt(Layout::microBatches))
                .toList();
        if (!fewest.isEmpty()
                && fewest.stream().allMatch(layout -> cutOnce(layout).refused() != null)) {
            cutOnce(fewest.get(0)).get();
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
        private final @Nullable Fastest fastest;
        /** Nanoseconds from which on a layout is no better than the best; infinite if there is none. */
        private final double nanosToBeat;

        Trial(Prospect.Open open, @Nullable Fastest fastest, @Nullable Judged best) {
            this.open = open;
            this.fastest = fastest;
            this.nanosToBeat =
                    best == null ? Double.POSITIVE_INFINITY : best.simulated().stepNanos();
        }

        /** The fastest shardings if these fit the memory, else those found under a limit that is lowered until they do. */
        Verdict judge() {
            Verdict first = fastest == null || fastest.local() == null ? null : simulate(fastest, false);
            if (first instanceof Slower) {
                return first;
            }
            Judged best = (Judged) first;
            if (best != null && best.fits()) {
                return best;
            }
            long limit = memoryBytes;
            for (int round = 0; round < MEMORY_ROUNDS && limit >= open.leastBytes(); round++) {
                StepShardings.Found found;
                synchronized (open.prices()) {
                    found = open.shardings().find(limit, solveOptions());
                }
                if (found.solution().choices().isEmpty()) {
                    break;
                }
                LocalStep local = lower(open, found, false);
                Verdict verdict = simulate(new Fastest(found, local, leastNanos(open, local)), true);
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

        private Verdict unlimited() {
            Fastest free = fastest == null ? free(open) : fastest;
            if (free.found().solution().choices().isEmpty()) {
                return new Refused(
                        open.layout(),
                        "no shardings found: " + free.found().solution().explanation(),
                        0);
            }
            LocalStep local = free.local() == null ? lower(open, free.found(), false) : free.local();
            return simulate(new Fastest(free.found(), local, 0), false);
        }

        /** With values gathered where they are made, or if that is too large, in each phase that uses them. */
        private Verdict simulate(Fastest made, boolean memoryBinds) {
            if (made.leastNanos() >= nanosToBeat) {
                return Slower.of(open.layout(), made.leastNanos(), memoryBinds);
            }
            LocalStep local = made.local() == null ? lower(open, made.found(), false) : made.local();
            Verdict first = simulate(made.found(), local, false, memoryBinds);
            if (!(first instanceof Judged once) || once.fits()) {
                return first;
            }
            Verdict second = simulate(made.found(), lower(open, made.found(), true), true, true);
            return !(second instanceof Judged perPhase) || perPhase.peakBytes() < once.peakBytes() ? second : first;
        }

        private Verdict simulate(
                StepShardings.Found found, LocalStep local, boolean gatherPerPhase, boolean memoryBinds) {
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
    }
}

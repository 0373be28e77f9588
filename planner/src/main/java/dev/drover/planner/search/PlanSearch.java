package dev.drover.planner.search;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.lower.Fingerprint;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.sim.Simulator;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.text.Plan;
import dev.drover.plan.text.StrategyText;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.ProgramRoofline;
import dev.drover.planner.cost.Roofline;
import dev.drover.planner.pipeline.StagePlanner;
import dev.drover.planner.spmd.StepShardings;
import dev.drover.solver.Solution;
import dev.drover.solver.SolveOptions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Finds the whole plan: every {@link Layout} (stages x mesh x micro-batches) is cut along time and depth, sharded by the strategy
 * solver under the memory limit, lowered, and judged by the simulator; the fastest that fits is kept (Rhino, strategy exploration).
 */
public final class PlanSearch {
    private static final int MEMORY_ROUNDS = 4;

    private final TrainingStep step;
    private final String source;
    private final Cluster cluster;
    private final DeviceMemory memory;
    private final SearchOptions options;
    private final SearchListener listener;
    private final Map<String, CutStep> cutByKey = new HashMap<>();
    private final Map<String, StageAssignment> assignmentByKey = new HashMap<>();
    private final List<Judged> judged = new ArrayList<>();
    private final List<Plan.Candidate> refused = new ArrayList<>();

    /** A candidate with everything that it takes to write it down. */
    private record Judged(
            Layout layout,
            CutStep cut,
            StageAssignment assignment,
            StepShardings.Found found,
            ExecutionPlan execution,
            SimulatedStep simulated) {
        long stepNanos() {
            return Math.round(simulated.stepNanos());
        }

        long peakBytes() {
            return simulated.memory().stream()
                    .mapToLong(MemoryUse::peakBytes)
                    .max()
                    .orElse(0);
        }
    }

    private PlanSearch(
            TrainingStep step,
            String source,
            Cluster cluster,
            DeviceMemory memory,
            SearchOptions options,
            SearchListener listener) {
        this.step = step;
        this.source = source;
        this.cluster = cluster;
        this.memory = memory;
        this.options = options;
        this.listener = listener;
    }

    /**
     * The best plan found.
     *
     * @param flat the flat training step
     * @param source what the model was read from, for the plan's record
     * @param memory what the devices need for values and programs
     * @throws UserError if no layout is possible or none fits the memory
     */
    public static Planned search(
            TrainingStep flat,
            String source,
            Cluster cluster,
            DeviceMemory memory,
            SearchOptions options,
            SearchListener listener) {
        return new PlanSearch(flat, source, cluster, memory, options, listener).run();
    }

    private Planned run() {
        long start = System.nanoTime();
        List<Layout> layouts = Layouts.of(cluster.devices(), TimeCut.batchSize(step), options);
        for (int i = 0; i < layouts.size(); i++) {
            double seconds = (System.nanoTime() - start) / 1e9;
            boolean haveOne = judged.stream().anyMatch(j -> j.simulated().fits());
            if (haveOne && seconds > options.timeoutSeconds()) {
                listener.progress(String.format(
                        Locale.ROOT, "time is up after %d of %d layouts (%.1f s)", i, layouts.size(), seconds));
                layouts.subList(i, layouts.size()).forEach(l -> refuse(l, "not tried: the time was up"));
                break;
            }
            tryLayout(
                    layouts.get(i), String.format(Locale.ROOT, "[%d/%d]", i + 1, layouts.size()), layouts.size() == 1);
        }
        Judged best = judged.stream()
                .filter(j -> j.simulated().fits())
                .min(Comparator.comparingLong(Judged::stepNanos).thenComparingLong(Judged::peakBytes))
                .orElseThrow(this::nothingFits);
        return new Planned(plan(best), best.execution(), best.simulated());
    }

    private void tryLayout(Layout layout, String count, boolean isOnlyOne) {
        try {
            Judged result = judge(layout);
            judged.add(result);
            listener.progress(String.format(
                    Locale.ROOT,
                    "%s %s: step %.3f ms, memory %s%s",
                    count,
                    layout.text(),
                    result.stepNanos() / 1e6,
                    MemoryUse.text(result.peakBytes()),
                    result.simulated().fits() ? "" : " (too much)"));
        } catch (UserError e) {
            if (isOnlyOne) {
                throw e;
            }
            String reason = e.getMessage() == null
                    ? "refused"
                    : e.getMessage().lines().findFirst().orElse("refused");
            refuse(layout, reason);
            listener.progress(count + " " + layout.text() + ": " + reason);
        }
    }

    private void refuse(Layout layout, String reason) {
        refused.add(candidate(layout, 0, 0, reason));
    }

    private static Plan.Candidate candidate(Layout layout, long stepNanos, long peakBytes, String rejected) {
        return new Plan.Candidate(
                layout.stages(),
                layout.mesh().toString(),
                layout.microBatches(),
                layout.schedule(),
                stepNanos,
                peakBytes,
                rejected);
    }

    private UserError nothingFits() {
        Judged nearest =
                judged.stream().min(Comparator.comparingLong(Judged::peakBytes)).orElse(null);
        if (nearest == null) {
            String reasons = String.join(
                    "; ",
                    refused.stream().map(Plan.Candidate::rejected).distinct().toList());
            return new UserError("The step must be possible in one of the layouts, but: " + reasons);
        }
        return new UserError(
                "The memory of cluster (" + cluster.name() + ") must suffice for one of " + judged.size()
                        + " layouts. The nearest, " + nearest.layout().text() + ": "
                        + String.join(" ", nearest.simulated().memoryProblems()),
                "Maybe use more devices, more micro-batches or a smaller batch.");
    }

    private Judged judge(Layout layout) {
        CutStep cut = cutByKey.computeIfAbsent(
                layout.microBatches() + " " + (layout.stages() > 1),
                key -> PlanCompiler.cut(step, layout.microBatches(), layout.stages()));
        StageAssignment assignment = assignmentByKey.computeIfAbsent(
                layout.microBatches() + " " + layout.stages(),
                key -> StagePlanner.plan(cut, layout.stages()).assignment());
        Resharder resharder = new Resharder(layout.mesh(), new MeshCollectives(cluster, layout.mesh(), 0));
        StepShardings shardings = new StepShardings(
                cut, assignment, Schedules.byName(layout.schedule()), new Roofline(cluster.deviceType(0)), resharder);
        long limit = memoryBytes();
        Judged best = null;
        for (int round = 0; round < MEMORY_ROUNDS; round++) {
            StepShardings.Found found = shardings.find(limit, solveOptions());
            if (found.solution().choices().isEmpty()) {
                break;
            }
            Judged now = simulate(layout, cut, assignment, found, resharder);
            if (best == null || better(now, best)) {
                best = now;
            }
            long excess = now.peakBytes() - memoryBytes();
            if (excess <= 0) {
                break;
            }
            // What the solver does not see (copies around collectives, buffers in flight) must fit too.
            limit = Math.min(limit - excess, found.solution().peakUsage() - excess);
            if (limit <= 0) {
                break;
            }
        }
        if (best == null) {
            return leastMemory(layout, cut, assignment, shardings, resharder);
        }
        return best;
    }

    private static boolean better(Judged a, Judged b) {
        if (a.simulated().fits() != b.simulated().fits()) {
            return a.simulated().fits();
        }
        return a.simulated().fits() ? a.stepNanos() < b.stepNanos() : a.peakBytes() < b.peakBytes();
    }

    /** No choice fits: the cheapest one without a limit, so that the message can say what is missing. */
    private Judged leastMemory(
            Layout layout, CutStep cut, StageAssignment assignment, StepShardings shardings, Resharder resharder) {
        StepShardings.Found found = shardings.find(Long.MAX_VALUE, solveOptions());
        if (found.solution().choices().isEmpty()) {
            throw new UserError("The shardings of layout (" + layout.text() + ") must exist: "
                    + found.solution().explanation());
        }
        return simulate(layout, cut, assignment, found, resharder);
    }

    private Judged simulate(
            Layout layout, CutStep cut, StageAssignment assignment, StepShardings.Found found, Resharder resharder) {
        ShardingDecisions decisions = found.decisions();
        ExecutionPlan execution = PlanCompiler.compile(cut, assignment, decisions, resharder, layout.schedule());
        SimulatedStep simulated = Simulator.simulate(execution, cluster, new ProgramRoofline(cluster), memory);
        return new Judged(layout, cut, assignment, found, execution, simulated);
    }

    private SolveOptions solveOptions() {
        return SolveOptions.ofSeconds(Math.max(1, options.timeoutSeconds() / 12))
                .withSeed(options.seed())
                .withTargetGap(0.01);
    }

    private long memoryBytes() {
        long least = Long.MAX_VALUE;
        for (int device = 0; device < cluster.devices(); device++) {
            least = Math.min(least, cluster.deviceType(device).memoryBytes());
        }
        return least;
    }

    private Plan plan(Judged best) {
        List<Plan.Candidate> candidates = new ArrayList<>();
        for (Judged other : judged) {
            String rejected = "";
            if (!other.simulated().fits()) {
                rejected = String.join(" ", other.simulated().memoryProblems());
            } else if (!other.layout().equals(best.layout())) {
                rejected = String.format(
                        Locale.ROOT,
                        "%.1f %% slower than the chosen one",
                        100.0 * (other.stepNanos() - best.stepNanos()) / Math.max(1, best.stepNanos()));
            }
            candidates.add(candidate(other.layout(), other.stepNanos(), other.peakBytes(), rejected));
        }
        candidates.addAll(refused);
        Layout layout = best.layout();
        return new Plan(
                Plan.VERSION,
                new Plan.ModelId(
                        source,
                        Fingerprint.of(step.graph()),
                        step.graph().entry().size()),
                cluster,
                layout.stages(),
                layout.mesh(),
                layout.microBatches(),
                layout.schedule(),
                PlanCompiler.runs(best.assignment()),
                StrategyText.print(
                        best.cut().computation(), best.found().decisions().strategies(), layout.mesh()),
                prediction(best.simulated()),
                certificate(best.found().solution()),
                candidates);
    }

    private static Plan.@Nullable Certificate certificate(Solution solution) {
        return new Plan.Certificate(solution.objective(), solution.lowerBound(), solution.gap());
    }

    /** What a simulated step is expected to take, as plans write it. */
    public static Plan.Prediction prediction(SimulatedStep simulated) {
        List<Plan.DeviceMemory> memory = new ArrayList<>();
        for (MemoryUse use : simulated.memory()) {
            SortedMap<String, Long> parts = new TreeMap<>();
            use.peakBytesByKind().forEach((kind, bytes) -> parts.put(kind.name().toLowerCase(Locale.ROOT), bytes));
            memory.add(
                    new Plan.DeviceMemory(use.rank(), simulated.stageByRank().get(use.rank()), use.peakBytes(), parts));
        }
        return new Plan.Prediction(
                Math.round(simulated.stepNanos()),
                Math.round(simulated.computeNanos()),
                Math.round(simulated.collectiveNanos()),
                Math.round(simulated.pointToPointNanos()),
                Math.round(simulated.bubbleNanos()),
                memory);
    }
}

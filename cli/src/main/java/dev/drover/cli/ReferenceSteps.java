package dev.drover.cli;

import dev.drover.plan.cluster.Calibration.Figures;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.sim.Simulator;
import dev.drover.planner.cost.ProgramRoofline;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.Planned;
import dev.drover.planner.search.SearchOptions;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.StepReport;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleFunction;

/**
 * Fits figures to what whole steps of a small model take. Prices are measured one kind of work at a time, in loops; a step has all kinds at
 * once, so that caches are colder, and messages, the runtime's other threads and the operating system want the processors too.
 *
 * <pre>
 *   all workers shard one stage    -> all times are stretched until the simulated step takes what was measured
 *   a pipeline                     -> the latency between stages, the same way: a stage that waits for a message waits for a processor too
 *   a pipeline of sharded stages   -> the collectives of groups, the same way: a member waits while other stages compute
 * </pre>
 */
final class ReferenceSteps {
    private static final String MODEL = "gpt:layers=2,hidden=96,heads=4,seq=64,batch=16";
    private static final int MOST_STAGES = 4;
    private static final int MICRO_BATCHES = 8;
    private static final int GROUPED_STAGES = 2;
    private static final int GROUPED_MICRO_BATCHES = 4;
    private static final int STEPS_AT_ONCE = 6;
    private static final int LEAST_STEPS = 12;
    /** First steps of a run, which are not measured. */
    private static final int NEW_STEPS = 3;

    private static final long MEASURED_NANOS = 600_000_000L;
    /** Much of the code that steps run is compiled by then. */
    private static final long WARM_UP_NANOS = 600_000_000L;

    private static final int NONE = -1;
    /** Speeds of no machine; of one that is near those that people have. */
    private static final Figures NOMINAL =
            new Figures(2, Map.of("f32", 5e10), 16L << 30, 1e10, 5_000, 2e9, 200_000, Measured.NONE);

    /** A fiftieth of a second: longer is no latency. */
    private static final long MOST_LATENCY_NANOS = 20_000_000L;

    /** Beyond these, other things than the collectives of groups take the time. */
    private static final double LEAST_STRETCH = 0.5;

    private static final double MOST_STRETCH = 4;
    /** Of a step that collectives of groups must take at least, so that it tells about them. */
    private static final double LEAST_SHARE = 0.05;

    private static final int HALVINGS = 12;

    private final int workers;
    private final LoadedModel model;
    private final ModelInputs inputs;
    private final DeviceMemory memory;
    /** All workers as one mesh first. */
    private final List<Planned> plans = new ArrayList<>();

    private final int pipeline;
    private final int grouped;
    /** Of each plan what the workers reported of each step. */
    private final List<List<List<StepReport>>> reports = new ArrayList<>();

    private ReferenceSteps(int workers) {
        this.workers = workers;
        LoadedModel zoo = LoadedModel.load(MODEL);
        // As if from a file: with data made up, since there may be no text at hand.
        this.model = new LoadedModel(zoo.source(), zoo.step(), zoo.flat(), null);
        this.inputs = ModelInputs.of(model, null, 1);
        this.memory = StepMemory.of(model.flat());
        plans.add(plan(1, workers, 1));
        int stages = stages();
        this.pipeline = stages > 1 ? plans.size() : NONE;
        if (stages > 1) {
            plans.add(plan(stages, workers / stages, MICRO_BATCHES));
        }
        boolean groups = workers > GROUPED_STAGES && workers % GROUPED_STAGES == 0;
        this.grouped = groups ? plans.size() : NONE;
        if (groups) {
            plans.add(plan(GROUPED_STAGES, workers / GROUPED_STAGES, GROUPED_MICRO_BATCHES));
        }
    }

    /** Finds the plans, which takes a second or two. No worker is needed for that. */
    static ReferenceSteps planned(int workers) {
        return new ReferenceSteps(workers);
    }

    /** Runs each plan for a while, the first at the end: the code that steps run is compiled by then. */
    void run(Workers processes) {
        for (int i = 1; i <= plans.size(); i++) {
            int plan = i % plans.size();
            reports.add(run(processes, plans.get(plan), i == 1 ? WARM_UP_NANOS : 0));
        }
        // In the order of the plans.
        Collections.rotate(reports, 1);
    }

    /** The figures that the steps suggest, from those of the parts. */
    Figures fit(Figures parts) {
        Figures fitted =
                parts.stretched(elapsed(0) / simulated(plans.get(0), parts).stepNanos());
        if (pipeline != NONE) {
            fitted = withLatency(fitted, plans.get(pipeline), elapsed(pipeline));
        }
        if (grouped != NONE) {
            fitted = withGroups(fitted, plans.get(grouped), elapsed(grouped));
        }
        double ratio = 1;
        for (int i = 0; i < plans.size(); i++) {
            double processor = new StepTimes(reports.get(i)).median(StepReport::totalProcessorNanos);
            ratio *= processor / simulated(plans.get(i), fitted).processorNanos();
        }
        Measured measured = fitted.measured().withProcessor(Math.pow(ratio, 1.0 / plans.size()));
        return fitted.with(fitted.loopbackLatencyNanos(), measured);
    }

    private double elapsed(int plan) {
        return new StepTimes(reports.get(plan)).median(StepReport::slowestNanos);
    }

    /** With the latency with which a step is simulated as long as it was measured. */
    private Figures withLatency(Figures figures, Planned plan, double nanos) {
        double least = (double) figures.loopbackLatencyNanos();
        return fitted(
                plan,
                nanos,
                least,
                Math.max(least, MOST_LATENCY_NANOS),
                latency -> figures.with(Math.round(latency), figures.measured()));
    }

    /** The same with the collectives of less than all workers. */
    private Figures withGroups(Figures figures, Planned plan, double nanos) {
        SimulatedStep before = simulated(plan, figures);
        if (before.collectiveNanos() < LEAST_SHARE * before.stepNanos()) {
            return figures;
        }
        String all = Measured.ALL_REDUCE + workers;
        return fitted(
                plan,
                nanos,
                LEAST_STRETCH,
                MOST_STRETCH,
                factor -> figures.with(
                        figures.loopbackLatencyNanos(),
                        figures.measured()
                                .stretched(kind -> kind.startsWith(Measured.ALL_REDUCE) && !kind.equals(all), factor)));
    }

    /** Of figures by a number, those with which a step is simulated as long as it was measured; found by halving. */
    private Figures fitted(
            Planned plan, double nanos, double least, double most, DoubleFunction<Figures> figuresByNumber) {
        double below = least;
        double above = most;
        for (int i = 0; i < HALVINGS; i++) {
            double middle = Math.sqrt(below * above);
            if (simulated(plan, figuresByNumber.apply(middle)).stepNanos() < nanos) {
                below = middle;
            } else {
                above = middle;
            }
        }
        return figuresByNumber.apply(below);
    }

    private SimulatedStep simulated(Planned plan, Figures figures) {
        Cluster cluster = cluster(figures);
        return Simulator.simulate(plan.execution(), cluster, new ProgramRoofline(cluster, memory), memory);
    }

    private Cluster cluster(Figures figures) {
        return Presets.parse("local:" + workers, () -> figures);
    }

    /** The most stages of equal meshes. */
    private int stages() {
        int stages = Math.min(MOST_STAGES, workers);
        while (workers % stages != 0) {
            stages--;
        }
        return stages;
    }

    /** Found with figures that are about right anywhere: what is run is simulated with those that were measured. */
    private Planned plan(int stages, int mesh, int microBatches) {
        SearchOptions options =
                SearchOptions.OPEN.withStages(stages).withMesh(List.of(mesh)).withMicroBatches(microBatches);
        return PlanSearch.search(model.flat(), model.source(), cluster(NOMINAL), memory, options, line -> {});
    }

    /** The reports of each step, of all workers, after so long a warm-up, for so long; without the first ones, which pay for what is new. */
    private List<List<StepReport>> run(Workers processes, Planned plan, long warmUpNanos) {
        Execution execution = processes.load(plan.execution(), inputs);
        List<List<StepReport>> measured = new ArrayList<>();
        long begin = System.nanoTime();
        long first = 0;
        while (System.nanoTime() - begin < warmUpNanos) {
            run(execution, first, STEPS_AT_ONCE, measured);
            first += STEPS_AT_ONCE;
        }
        measured.clear();
        long warm = System.nanoTime();
        while (measured.size() < LEAST_STEPS || System.nanoTime() - warm < MEASURED_NANOS) {
            run(execution, first, STEPS_AT_ONCE, measured);
            first += STEPS_AT_ONCE;
        }
        return measured.subList(NEW_STEPS, measured.size());
    }

    private void run(Execution execution, long first, int steps, List<List<StepReport>> reportsOfSteps) {
        Workers.feed(execution, inputs, first, steps);
        execution.run(first, steps, reportsOfSteps::add);
    }
}

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
import java.util.List;
import java.util.function.DoubleFunction;
import java.util.function.ToLongFunction;

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
    /** Each plan is run so often, the plans in turn: a machine's speed changes within seconds. */
    private static final int ROUNDS = 3;

    private static final int STEPS_AT_ONCE = 8;
    private static final long ROUND_NANOS = 1_000_000_000L;
    /** The code that steps run is compiled by then. */
    private static final long WARM_UP_NANOS = 2_000_000_000L;

    /** A fiftieth of a second: longer is no latency. */
    private static final long MOST_LATENCY_NANOS = 20_000_000L;

    /** Beyond these, other things than the collectives of groups take the time. */
    private static final double LEAST_STRETCH = 0.5;

    private static final double MOST_STRETCH = 4;
    /** Of a step that collectives of groups must take at least, so that it tells about them. */
    private static final double LEAST_SHARE = 0.05;

    private static final int HALVINGS = 12;

    private final Workers processes;
    private final int workers;
    private final LoadedModel model;
    private final ModelInputs inputs;

    private final DeviceMemory memory;

    private ReferenceSteps(Workers processes, int workers) {
        this.processes = processes;
        this.workers = workers;
        LoadedModel zoo = LoadedModel.load(MODEL);
        // As if from a file: with data made up, since there may be no text at hand.
        this.model = new LoadedModel(zoo.source(), zoo.step(), zoo.flat(), null);
        this.inputs = ModelInputs.of(model, null, 1);
        this.memory = StepMemory.of(model.flat());
    }

    /** The figures that the steps suggest, from those of the parts. */
    static Figures fit(Workers processes, int workers, Figures parts) {
        return new ReferenceSteps(processes, workers).fit(parts);
    }

    private Figures fit(Figures parts) {
        List<Planned> plans = new ArrayList<>(List.of(plan(parts, 1, workers, 1)));
        int stages = stages();
        boolean pipeline = stages > 1;
        if (pipeline) {
            plans.add(plan(parts, stages, workers / stages, MICRO_BATCHES));
        }
        boolean groups = workers > GROUPED_STAGES && workers % GROUPED_STAGES == 0;
        if (groups) {
            plans.add(plan(parts, GROUPED_STAGES, workers / GROUPED_STAGES, GROUPED_MICRO_BATCHES));
        }
        List<List<List<StepReport>>> reports = new ArrayList<>();
        plans.forEach(plan -> reports.add(new ArrayList<>()));
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < plans.size(); i++) {
                reports.get(i).addAll(run(plans.get(i), round + i == 0 ? WARM_UP_NANOS : 0));
            }
        }
        Figures fitted = parts.stretched(
                elapsed(reports.get(0)) / simulated(plans.get(0), parts).stepNanos());
        if (pipeline) {
            fitted = withLatency(fitted, plans.get(1), elapsed(reports.get(1)));
        }
        if (groups) {
            fitted = withGroups(fitted, plans.get(2), elapsed(reports.get(2)));
        }
        double ratio = 1;
        for (int i = 0; i < plans.size(); i++) {
            double processor = median(reports.get(i), StepReport::totalProcessorNanos);
            ratio *= processor / simulated(plans.get(i), fitted).processorNanos();
        }
        Measured measured = fitted.measured().withProcessor(Math.pow(ratio, 1.0 / plans.size()));
        return fitted.with(fitted.loopbackLatencyNanos(), measured);
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

    private Planned plan(Figures figures, int stages, int mesh, int microBatches) {
        SearchOptions options =
                SearchOptions.OPEN.withStages(stages).withMesh(List.of(mesh)).withMicroBatches(microBatches);
        return PlanSearch.search(model.flat(), model.source(), cluster(figures), memory, options, line -> {});
    }

    /** The reports of each step, of all workers, after so long a warm-up. */
    private List<List<StepReport>> run(Planned plan, long warmUpNanos) {
        Execution execution = processes.load(plan.execution(), inputs);
        List<List<StepReport>> measured = new ArrayList<>();
        long begin = System.nanoTime();
        long first = 0;
        while (measured.isEmpty() || System.nanoTime() - begin < warmUpNanos + ROUND_NANOS) {
            boolean warm = first > 0 && System.nanoTime() - begin >= warmUpNanos;
            Workers.feed(execution, inputs, first, STEPS_AT_ONCE);
            execution.run(first, STEPS_AT_ONCE, step -> {
                if (warm) {
                    measured.add(step);
                }
            });
            first += STEPS_AT_ONCE;
        }
        return measured;
    }

    private static double elapsed(List<List<StepReport>> steps) {
        return median(steps, StepReport::slowestNanos);
    }

    private static double median(List<List<StepReport>> steps, ToLongFunction<List<StepReport>> time) {
        List<Long> sorted = steps.stream().map(time::applyAsLong).sorted().toList();
        return sorted.get(sorted.size() / 2);
    }
}

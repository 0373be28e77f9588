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
import java.util.function.ToLongFunction;

/**
 * Fits figures to what whole steps of a small model take. Prices are measured one kind of work at a time, in loops; a step has all kinds at
 * once, so that caches are colder, and messages, the runtime's other threads and the operating system want the processors too.
 *
 * <pre>
 *   all workers shard one stage    -> all times are stretched until the simulated step takes what was measured
 *   a pipeline                     -> the latency between stages, the same way: a stage that waits for a message waits for a processor too
 * </pre>
 */
final class ReferenceSteps {
    private static final String MODEL = "gpt:layers=2,hidden=96,heads=4,seq=64,batch=16";
    private static final int MOST_STAGES = 4;
    private static final int MICRO_BATCHES = 8;
    /** Each plan is run so often, the plans in turn: a machine's speed changes within seconds. */
    private static final int ROUNDS = 3;

    private static final int STEPS_AT_ONCE = 8;
    private static final long ROUND_NANOS = 1_000_000_000L;
    /** The code that steps run is compiled by then. */
    private static final long WARM_UP_NANOS = 2_000_000_000L;

    /** A fiftieth of a second: longer is no latency. */
    private static final long MOST_LATENCY_NANOS = 20_000_000L;

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
        if (stages > 1) {
            plans.add(plan(parts, stages, workers / stages, MICRO_BATCHES));
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
        if (stages > 1) {
            fitted = fitted.with(latency(plans.get(1), fitted, elapsed(reports.get(1))), fitted.measured());
        }
        double ratio = 1;
        for (int i = 0; i < plans.size(); i++) {
            double processor = median(reports.get(i), StepReport::totalProcessorNanos);
            ratio *= processor / simulated(plans.get(i), fitted).processorNanos();
        }
        Measured measured = fitted.measured().withProcessor(Math.pow(ratio, 1.0 / plans.size()));
        return fitted.with(fitted.loopbackLatencyNanos(), measured);
    }

    /** With which a step is simulated as long as it was measured; found by halving. */
    private long latency(Planned plan, Figures figures, double nanos) {
        long below = figures.loopbackLatencyNanos();
        long above = Math.max(below, MOST_LATENCY_NANOS);
        while (above - below > below / 100 + 1) {
            long middle = (below + above) / 2;
            if (simulated(plan, figures.with(middle, figures.measured())).stepNanos() < nanos) {
                below = middle;
            } else {
                above = middle;
            }
        }
        return below;
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

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
import java.util.Map;
import java.util.function.DoubleFunction;
import java.util.function.Predicate;

/**
 * Fits figures to what whole steps of a small model take. Prices are measured one kind of work at a time, in loops; a step has all kinds at
 * once, so that caches are colder, and messages, the runtime's other threads and the operating system want the processors too.
 *
 * <pre>
 *   processor time of all steps    -> times of computing are stretched to it, and by that of the workers' other threads
 *   all workers shard one stage    -> collectives are stretched until the simulated step takes what was measured
 *   a pipeline                     -> the latency between stages, the same way: a stage that waits for a message waits for a processor too
 *   a pipeline of sharded stages   -> the collectives of groups, the same way: a member waits while other stages compute
 * </pre>
 *
 * <p>Of the times of collectives only how they grow with the bytes is kept from the loops: how long one takes differs there by a factor of
 * two from one second to the next, while the processor time of computing hardly does.
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

    private static final long WARM_UP_NANOS = 500_000_000L;
    private static final long MEASURED_NANOS = 700_000_000L;

    private static final int NONE = -1;
    /** Speeds of no machine; of one that is near those that people have. */
    private static final Figures NOMINAL =
            new Figures(2, Map.of("f32", 5e10), 16L << 30, 1e10, 5_000, 2e9, 200_000, Measured.NONE);

    /** Of a message between threads. */
    private static final long LEAST_LATENCY_NANOS = 20_000L;
    /** A fiftieth of a second: longer is no latency. */
    private static final long MOST_LATENCY_NANOS = 20_000_000L;

    /** Of computing's time over its processor time; above it other work was on the machine. */
    static final double MOST_DELAY = 1.3;
    /** Of the processor time of all threads over that of computing. */
    private static final double MOST_OF_THREADS = 1.6;

    private static final double LEAST_OF_ALL = 0.1;
    private static final double MOST_OF_ALL = 10;
    /** Beyond these, other things than the collectives of groups take the time. */
    private static final double LEAST_STRETCH = 0.5;

    private static final double MOST_STRETCH = 4;
    /** Of a step that collectives must take at least, so that it tells about them. */
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
    /** Of each plan. */
    private final List<Run> runs = new ArrayList<>();

    /**
     * Steps of a plan.
     *
     * @param times without the first steps, which pay for what is new
     * @param threadsOverComputing processor time of all threads of the workers over that of their computing, in all steps
     */
    private record Run(StepTimes times, double threadsOverComputing) {}

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

    /** Runs each plan twice: first until most of the code that steps run is compiled. */
    void run(Workers processes) {
        for (Planned plan : plans) {
            Run unused = run(processes, plan, WARM_UP_NANOS);
        }
        for (Planned plan : plans) {
            runs.add(run(processes, plan, MEASURED_NANOS));
        }
    }

    /** The figures that the steps suggest, from those of the parts. */
    Figures fit(Figures parts) {
        Figures whole =
                parts.with(parts.loopbackLatencyNanos(), parts.measured().withProcessor(1));
        double ratio = 1;
        for (int i = 0; i < plans.size(); i++) {
            double processor = runs.get(i).times().median(StepReport::totalProcessorNanos);
            ratio *= processor / simulated(plans.get(i), whole).processorNanos();
        }
        double ofThreads =
                runs.stream().mapToDouble(Run::threadsOverComputing).average().orElse(1);
        double ofOthers = Math.max(1, Math.min(MOST_DELAY, parts.measured().delay()));
        // Where each worker has a processor of its own, its other threads do not hold its computing up.
        double delay = parts.measured().processors() == 0
                ? ofOthers
                : Math.max(ofOthers, Math.min(MOST_OF_THREADS, ofThreads));
        Figures fitted = whole.stretched(Math.pow(ratio, 1.0 / plans.size()) * delay);
        fitted = fitted.with(fitted.loopbackLatencyNanos(), fitted.measured().withProcessor(1 / delay));
        if (workers > 1) {
            fitted = withCollectives(fitted, plans.get(0), elapsed(0), kind -> true, LEAST_OF_ALL, MOST_OF_ALL);
        }
        fitted = fitted.stretched(elapsed(0) / simulated(plans.get(0), fitted).stepNanos());
        if (pipeline != NONE) {
            fitted = withLatency(fitted, plans.get(pipeline), elapsed(pipeline));
        }
        if (grouped != NONE) {
            String all = Measured.ALL_REDUCE + workers;
            fitted = withCollectives(
                    fitted,
                    plans.get(grouped),
                    elapsed(grouped),
                    kind -> !kind.equals(all),
                    LEAST_STRETCH,
                    MOST_STRETCH);
        }
        return fitted;
    }

    private double elapsed(int plan) {
        return runs.get(plan).times().median(StepReport::slowestNanos);
    }

    /** With the latency with which a step is simulated as long as it was measured. */
    private Figures withLatency(Figures figures, Planned plan, double nanos) {
        return fitted(
                plan,
                nanos,
                LEAST_LATENCY_NANOS,
                MOST_LATENCY_NANOS,
                latency -> figures.with(Math.round(latency), figures.measured()));
    }

    /** The same with the times of collectives of some kinds. */
    private Figures withCollectives(
            Figures figures, Planned plan, double nanos, Predicate<String> kinds, double least, double most) {
        SimulatedStep before = simulated(plan, figures);
        if (before.collectiveNanos() < LEAST_SHARE * before.stepNanos()) {
            return figures;
        }
        return fitted(
                plan,
                nanos,
                least,
                most,
                factor -> figures.with(
                        figures.loopbackLatencyNanos(),
                        figures.measured()
                                .stretched(kind -> kind.startsWith(Measured.ALL_REDUCE) && kinds.test(kind), factor)));
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

    /** Runs steps for so long. */
    private Run run(Workers processes, Planned plan, long nanos) {
        Execution execution = processes.load(plan.execution(), inputs);
        List<List<StepReport>> measured = new ArrayList<>();
        long begin = System.nanoTime();
        long processorBegin = processes.processorNanos();
        long first = 0;
        while (measured.size() < LEAST_STEPS || System.nanoTime() - begin < nanos) {
            Workers.feed(execution, inputs, first, STEPS_AT_ONCE);
            execution.run(first, STEPS_AT_ONCE, measured::add);
            first += STEPS_AT_ONCE;
        }
        double computing = new StepTimes(measured).total(StepReport::processorNanos);
        double threads = (processes.processorNanos() - processorBegin) / Math.max(1, computing);
        return new Run(new StepTimes(measured.subList(NEW_STEPS, measured.size())), threads);
    }
}

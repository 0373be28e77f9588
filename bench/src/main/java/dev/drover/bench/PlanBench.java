package dev.drover.bench;

import com.sun.management.OperatingSystemMXBean;
import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.importers.ModelFile;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sim.Simulator;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.LocalStep;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.ProgramRoofline;
import dev.drover.planner.cost.Roofline;
import dev.drover.planner.pipeline.StagePlanner;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.SearchOptions;
import dev.drover.planner.spmd.MeshPrices;
import dev.drover.planner.spmd.StepShardings;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * Where the seconds of planning go: processor seconds of each phase for one layout (all of the first mesh's devices, one micro-batch),
 * then of the whole search after it in the same process, with its wall seconds.
 *
 * <p>Arguments: a preset cluster (not local), then zoo names or HLO files.
 */
public final class PlanBench {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final List<Double> seconds = new ArrayList<>();

    private PlanBench() {}

    /**
     * Prints one row per model.
     *
     * @param args cluster, models
     */
    public static void main(String[] args) {
        if (args.length < 2) {
            System.err.println("A cluster and at least one model must be given.\nMaybe m8:1 gpt:layers=72,hidden=1024");
            System.exit(2);
        }
        Cluster cluster = Presets.parse(args[0], () -> {
            throw new IllegalArgumentException("The cluster (" + args[0] + ") must be a preset that is not measured.");
        });
        System.out.println("processor seconds on " + args[0]);
        System.out.printf(
                "%-34s %7s %6s %6s %6s %6s %6s %6s %6s %6s %6s %6s %7s %6s %9s%n",
                "model", "instr.", "read", "flat", "cut", "stages", "prices", "solve", "lower", "tasks", "memory",
                "simul.", "search", "wall", "step ms");
        for (String model : Arrays.asList(args).subList(1, args.length)) {
            new PlanBench().row(model, cluster);
        }
    }

    private <T> T timed(Supplier<T> phase) {
        long start = SYSTEM.getProcessCpuTime();
        T result = phase.get();
        seconds.add((SYSTEM.getProcessCpuTime() - start) / 1e9);
        return result;
    }

    private void row(String model, Cluster cluster) {
        TrainingStep step = timed(() -> Zoo.isName(model) ? Zoo.parse(model).step() : ModelFile.load(Path.of(model)));
        TrainingStep flat = timed(() -> Flatten.run(step));
        CutStep forStages = timed(() -> PlanCompiler.cut(flat, 1, 2));
        timed(() -> StagePlanner.plan(forStages, 2));
        CutStep cut = PlanCompiler.cut(flat, 1, 1);
        Mesh mesh = Mesh.of(2, cluster.devices() / 2);
        Resharder resharder = new Resharder(mesh, new MeshCollectives(cluster, mesh, 0));
        StageAssignment single = StageAssignment.single(cut);
        StepShardings shardings = timed(() -> new StepShardings(
                cut,
                single,
                Schedules.byName("1f1b"),
                new MeshPrices(new Roofline(cluster.deviceType(0), cluster.measured()), resharder)));
        StepShardings.Found found = timed(() -> shardings.find(
                StrategyProblem.UNLIMITED,
                SolveOptions.ofSeconds(60).withWorkLimit(300_000_000).withTargetGap(0.01)));
        LocalStep local = timed(() -> PlanCompiler.lower(cut, single, found.decisions(), resharder, false));
        ExecutionPlan plan = timed(() -> PlanCompiler.build(local, single, "1f1b"));
        DeviceMemory memory = new TorchDeviceMemory();
        // What the backend says of programs is kept, so that the simulation afterwards only lays it out.
        timed(() -> WorkerLayout.of(plan, plan.workers().get(0), memory));
        timed(() -> Simulator.simulate(plan, cluster, new ProgramRoofline(cluster, memory), memory));
        long wall = System.nanoTime();
        String stepMillis = timed(() -> {
            try {
                return String.format(
                        Locale.ROOT,
                        "%.1f",
                        PlanSearch.search(
                                                flat,
                                                model,
                                                cluster,
                                                memory,
                                                SearchOptions.OPEN.withTimeoutSeconds(600),
                                                l -> {})
                                        .simulated()
                                        .stepNanos()
                                / 1e6);
            } catch (UserError e) {
                return "none fits";
            }
        });
        wall = System.nanoTime() - wall;
        StringBuilder line = new StringBuilder(String.format(
                Locale.ROOT,
                "%-34s %7d",
                model.substring(model.lastIndexOf('/') + 1),
                flat.graph().entry().size()));
        for (int i = 0; i < seconds.size(); i++) {
            line.append(String.format(Locale.ROOT, i == 10 ? " %7.1f" : " %6.2f", seconds.get(i)));
        }
        System.out.println(line + String.format(Locale.ROOT, " %6.1f %9s", wall / 1e9, stepMillis));
    }
}

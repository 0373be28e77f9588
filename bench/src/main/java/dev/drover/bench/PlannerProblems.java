package dev.drover.bench;

import dev.drover.importers.ModelFile;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.Roofline;
import dev.drover.planner.pipeline.StagePlanner;
import dev.drover.planner.spmd.MeshPrices;
import dev.drover.planner.spmd.StepShardings;
import dev.drover.solver.ContestFile;
import dev.drover.solver.StrategyProblem;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Writes the strategy problem that Drover makes for a layout of a model, so that the solver can be measured on it alone.
 *
 * <p>Arguments: a zoo name or an HLO file, a preset cluster (not local), the stages, the mesh (4x2), the micro-batches, the memory limit
 * of a device in MiB (0: none), the file to write.
 */
public final class PlannerProblems {
    private PlannerProblems() {}

    /**
     * Writes one problem.
     *
     * @param args model, cluster, stages, mesh, micro-batches, MiB, file
     * @throws IOException if the file cannot be written
     */
    public static void main(String[] args) throws IOException {
        if (args.length != 7) {
            System.err.println(
                    "Seven arguments must be given: model, cluster, stages, mesh, micro-batches, MiB (0: no limit), file.\n"
                            + "Maybe gpt:layers=72,hidden=1024,heads=16,seq=1024,batch=16 m8:1 1 2x4 1 0 problem.json");
            System.exit(2);
        }
        TrainingStep step = step(args[0]);
        Cluster cluster = Presets.parse(args[1], () -> {
            throw new IllegalArgumentException("The cluster (" + args[1] + ") must be a preset that is not measured.");
        });
        int stages = Integer.parseInt(args[2]);
        Mesh mesh = Mesh.of(
                Arrays.stream(args[3].split("x")).mapToInt(Integer::parseInt).toArray());
        int microBatches = Integer.parseInt(args[4]);
        long mebibytes = Long.parseLong(args[5]);
        CutStep cut = PlanCompiler.cut(step, microBatches, stages);
        StageAssignment assignment = StagePlanner.plan(cut, stages).assignment();
        Resharder resharder = new Resharder(mesh, new MeshCollectives(cluster, mesh, 0));
        StepShardings shardings = new StepShardings(
                cut,
                assignment,
                Schedules.byName("1f1b"),
                new MeshPrices(new Roofline(cluster.deviceType(0), cluster.measured()), resharder));
        long start = System.nanoTime();
        StrategyProblem problem = shardings.integers(mebibytes == 0 ? Long.MAX_VALUE : mebibytes << 20);
        System.out.printf(
                "%s: %d nodes, %d edges, made in %.2f s%n",
                args[6], problem.nodeCount(), problem.edgeCount(), (System.nanoTime() - start) / 1e9);
        ContestFile.write(problem, Path.of(args[6]));
    }

    private static TrainingStep step(String model) {
        TrainingStep step = Zoo.isName(model) ? Zoo.parse(model).step() : ModelFile.load(Path.of(model));
        return Flatten.run(step);
    }
}

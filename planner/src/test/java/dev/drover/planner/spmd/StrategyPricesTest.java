package dev.drover.planner.spmd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Source;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.Roofline;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrategyPricesTest {

    /** What is explained is what was decided by: the chosen strategies' prices add up to the solver's objective. */
    @ParameterizedTest
    @ValueSource(
            strings = {"gpt:layers=2,hidden=1024,heads=16,seq=512,batch=32", "mlp:layers=3,hidden=4096,batch=4096"})
    void chosenPricesAddUpToTheObjective(String model) {
        TrainingStep flat = Flatten.run(Zoo.parse(model).step());
        CutStep cut = TimeCut.cut(flat, 1, false);
        Cluster cluster = Presets.parse("s1:4", () -> {
            throw new IllegalStateException("The machine must not be measured.");
        });
        Mesh mesh = Mesh.of(4);
        Roofline roofline = new Roofline(cluster.deviceType(0), cluster.measured());
        Resharder resharder = new Resharder(mesh, new MeshCollectives(cluster, mesh, 0));
        StepShardings.Found found = new StepShardings(
                        cut, StageAssignment.single(cut), Schedules.byName("1f1b"), new MeshPrices(roofline, resharder))
                .find(StrategyProblem.UNLIMITED, SolveOptions.ofSeconds(20).withWorkLimit(100_000_000));
        StrategyPrices prices = new StrategyPrices(
                cut.computation(), PlanCompiler.updatedParameters(cut), found.decisions(), roofline, resharder);
        double together = 0;
        double exchanged = 0;
        for (Instruction instruction : cut.computation().instructions()) {
            if (!Source.isWiring(instruction)) {
                List<StrategyPrices.Price> chosen = prices.of(instruction).stream()
                        .filter(StrategyPrices.Price::chosen)
                        .toList();
                assertThat(chosen).hasSize(1);
                together += chosen.get(0).computeNanos() + chosen.get(0).userNanos();
                exchanged += chosen.get(0).userNanos();
            }
        }
        assertThat(exchanged).isPositive();
        // The solver counts in whole nanoseconds.
        assertThat(together)
                .isCloseTo(
                        (double) found.solution().objective(),
                        within(2.0 * cut.computation().size()));
    }
}

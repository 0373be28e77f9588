package dev.drover.planner.spmd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Dot;
import dev.drover.models.Zoo;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import org.junit.jupiter.api.Test;

/** Small gradients travel together, so the latency of each must not keep the search from cutting the batch. */
class JoinedExchangesTest {
    private static final Mesh MESH = Mesh.of(2);
    private static final InstructionCost COST = (whole, flops, operands, results) -> flops / 20;
    private static final double LATENCY_NANOS = 50_000;

    @Test
    void theBatchIsCutThoughEachGradientAloneWouldCostMore() {
        TrainingStep step = Zoo.parse("mlp:layers=8,hidden=64,batch=64").step();
        CutStep cut = PlanCompiler.cut(step, 1, 1);
        Resharder resharder = new Resharder(MESH, (kind, axis, bytes) -> LATENCY_NANOS + bytes);
        StepShardings shardings = new StepShardings(
                cut, StageAssignment.single(cut), Schedules.byName("1f1b"), new MeshPrices(COST, resharder));
        ShardingDecisions decisions = shardings
                .find(StrategyProblem.UNLIMITED, SolveOptions.ofSeconds(20))
                .decisions();
        int whole = 0;
        for (Instruction instruction : cut.computation().instructions()) {
            if (instruction.op() instanceof Dot
                    && new OpShardings(instruction, MESH)
                                    .divisions(decisions.strategies().get(instruction.id()))
                            == 1) {
                whole++;
            }
        }
        assertThat(whole).as("products that both devices make whole").isZero();
    }
}

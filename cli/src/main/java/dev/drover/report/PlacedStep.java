package dev.drover.report;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.text.Plan;
import dev.drover.plan.text.StrategyText;

/** A step cut along time, with the stage and the strategy that a plan gives to each instruction. */
public record PlacedStep(CutStep cut, Mesh mesh, StageAssignment assignment, ShardingDecisions decisions) {

    /** What a plan says about its flat step. */
    public static PlacedStep of(Plan plan, TrainingStep flat) {
        CutStep cut = PlanCompiler.cut(flat, plan.microBatches(), plan.stages());
        ShardingDecisions decisions = ShardingDecisions.of(
                cut.computation(),
                PlanCompiler.updatedParameters(cut),
                StrategyText.parse(cut.computation(), plan.strategies(), plan.mesh()),
                plan.mesh());
        return new PlacedStep(cut, plan.mesh(), PlanCompiler.assignment(plan, cut), decisions);
    }

    /** How the first result of an instruction is made. */
    Sharding sharding(Instruction instruction) {
        return new OpShardings(instruction, mesh).result(decisions.strategies().get(instruction.id()), 0);
    }
}

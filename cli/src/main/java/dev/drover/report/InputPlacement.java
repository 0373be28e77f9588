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
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Where an input of the step is kept.
 *
 * @param shape of one micro-batch where the input is cut along time
 * @param sharding as {@link Sharding#text}
 * @param deviceBytes what one device holds
 */
public record InputPlacement(String name, String role, String shape, int stage, String sharding, long deviceBytes) {

    /** Of each input of the cut step, in order; the micro-batch number is left out. */
    public static List<InputPlacement> of(Plan plan, TrainingStep flat) {
        CutStep cut = PlanCompiler.cut(flat, plan.microBatches(), plan.stages());
        Mesh mesh = plan.mesh();
        ShardingDecisions decisions = ShardingDecisions.of(
                cut.computation(),
                PlanCompiler.updatedParameters(cut),
                StrategyText.parse(cut.computation(), plan.strategies(), mesh),
                mesh);
        StageAssignment assignment = PlanCompiler.assignment(plan, cut);
        List<InputPlacement> rows = new ArrayList<>();
        for (Instruction parameter : cut.computation().parameters()) {
            CutStep.CutInput from = cut.input(parameter.id());
            if (from == null || from.input() < 0) {
                continue;
            }
            Sharding sharding = new OpShardings(parameter, mesh)
                    .result(decisions.strategies().get(parameter.id()), 0);
            rows.add(new InputPlacement(
                    flat.inputs().get(from.input()).name(),
                    flat.inputs()
                            .get(from.input())
                            .kind()
                            .name()
                            .toLowerCase(Locale.ROOT)
                            .replace('_', ' '),
                    parameter.shape().toString(),
                    assignment.stage(parameter.id()),
                    sharding.text(mesh),
                    sharding.localBytes(parameter.array(), mesh)));
        }
        return rows;
    }
}

package dev.drover.plan.lower;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.schedule.Schedule;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.StageChecker;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.text.Plan;
import dev.drover.plan.text.StrategyText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** From decisions to what every worker does: time cut, lowering, programs and tasks. Prices nothing. */
public final class PlanCompiler {
    private PlanCompiler() {}

    /** The micro-batches of a step, as a plan with this many stages needs them. */
    public static CutStep cut(TrainingStep flat, int microBatches, int stages) {
        return TimeCut.cut(flat, microBatches, stages > 1);
    }

    /** The execution plan of decided shardings; values are brought to other shardings once, where they are made. */
    public static ExecutionPlan compile(
            CutStep cut,
            StageAssignment assignment,
            ShardingDecisions decisions,
            Resharder resharder,
            String schedule) {
        return compile(cut, assignment, decisions, resharder, schedule, false);
    }

    /**
     * The execution plan of decided shardings.
     *
     * @param gatherPerPhase as in {@link ReshardSites}
     */
    public static ExecutionPlan compile(
            CutStep cut,
            StageAssignment assignment,
            ShardingDecisions decisions,
            Resharder resharder,
            String schedule,
            boolean gatherPerPhase) {
        return build(lower(cut, assignment, decisions, resharder, gatherPerPhase), assignment, schedule);
    }

    /** What every device of a mesh computes under decided shardings, not yet cut into programs. */
    public static LocalStep lower(
            CutStep cut,
            StageAssignment assignment,
            ShardingDecisions decisions,
            Resharder resharder,
            boolean gatherPerPhase) {
        Lowered lowered = Lowering.lower(
                cut.computation(), decisions, resharder, ReshardSites.of(cut, assignment, gatherPerPhase));
        return new LocalStep(
                cut, resharder.mesh(), lowered.local(), lowered.origins(), lowered.parameters(), lowered.outputs());
    }

    /** The execution plan of a lowered step. */
    public static ExecutionPlan build(LocalStep local, StageAssignment assignment, String schedule) {
        Schedule order =
                Schedules.byName(schedule).make(assignment.stages(), local.cut().microBatches());
        return ExecutionPlanBuilder.build(local, assignment, order);
    }

    /**
     * The execution plan of a stored plan. Refuses a plan for another model by name.
     *
     * @param flat the flat training step
     */
    public static ExecutionPlan compile(TrainingStep flat, Plan plan, Resharder resharder) {
        String fingerprint = Fingerprint.of(flat.graph());
        if (!fingerprint.equals(plan.model().fingerprint())) {
            throw new UserError(
                    "The model (" + flat.graph().name() + ", fingerprint " + fingerprint + ", "
                            + flat.graph().entry().size()
                            + " instructions) of the plan must be the one it was made for ("
                            + plan.model().source() + ", fingerprint "
                            + plan.model().fingerprint() + ", " + plan.model().instructions() + " instructions).",
                    "Maybe plan this model again.");
        }
        CutStep cut = cut(flat, plan.microBatches(), plan.stages());
        StageAssignment assignment = assignment(plan, cut);
        List<OpStrategy> strategies = StrategyText.parse(cut.computation(), plan.strategies(), plan.mesh());
        ShardingDecisions decisions =
                ShardingDecisions.of(cut.computation(), updatedParameters(cut), strategies, plan.mesh());
        return compile(cut, assignment, decisions, resharder, plan.schedule(), plan.gatherPerPhase());
    }

    /** The stages and phases that a stored plan gives the instructions of its cut step. */
    public static StageAssignment assignment(Plan plan, CutStep cut) {
        List<Integer> stages = new ArrayList<>();
        List<Phase> phases = new ArrayList<>();
        long covered = plan.stageRuns().stream().mapToLong(Plan.StageRun::count).sum();
        if (covered != cut.computation().size()) {
            throw new UserError("The stageRuns (" + covered + " instructions) of the plan must cover the step ("
                    + cut.computation().size() + " instructions).");
        }
        for (Plan.StageRun run : plan.stageRuns()) {
            for (int i = 0; i < run.count(); i++) {
                stages.add(run.stage());
                phases.add(run.phase());
            }
        }
        StageAssignment assignment = new StageAssignment(plan.stages(), stages, phases);
        try {
            StageChecker.check(cut, assignment);
        } catch (IllegalArgumentException e) {
            throw new UserError(
                    "The stageRuns of the plan must let values flow with the stages and phases. " + e.getMessage(), e);
        }
        return assignment;
    }

    /** Stages and phases as runs. */
    public static List<Plan.StageRun> runs(StageAssignment assignment) {
        List<Plan.StageRun> runs = new ArrayList<>();
        for (int id = 0; id < assignment.stageById().size(); id++) {
            Plan.StageRun last = runs.isEmpty() ? null : runs.get(runs.size() - 1);
            if (last != null && last.stage() == assignment.stage(id) && last.phase() == assignment.phase(id)) {
                runs.set(runs.size() - 1, new Plan.StageRun(last.stage(), last.phase(), last.count() + 1));
            } else {
                runs.add(new Plan.StageRun(assignment.stage(id), assignment.phase(id), 1));
            }
        }
        return runs;
    }

    /** By output of a cut step: the parameter number of its computation that it updates, or -1. */
    public static List<Integer> updatedParameters(CutStep cut) {
        Map<Integer, Integer> numberByInput = new HashMap<>();
        for (int number = 0; number < cut.inputs().size(); number++) {
            numberByInput.put(cut.inputs().get(number).input(), number);
        }
        List<Integer> out = new ArrayList<>();
        for (OutputRole role : cut.step().outputs()) {
            boolean updates = role.kind() == OutputRole.Kind.UPDATE;
            out.add(updates ? numberByInput.getOrDefault(role.input(), -1) : -1);
        }
        return out;
    }
}

package dev.drover.planner.spmd;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.schedule.ScheduleKind;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.solver.Solution;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import dev.drover.solver.StrategySolver;
import java.util.ArrayList;
import java.util.List;

/** Finds the shardings of a cut step whose stages and schedule are given. */
public final class StepShardings {
    private final CutStep cut;
    private final StageAssignment assignment;
    private final ScheduleKind schedule;
    private final SpmdProblem problem;

    /** Decisions and what the solver proved about them; no decisions if there is no choice under the limit. */
    public record Found(ShardingDecisions decisions, Solution solution) {}

    public StepShardings(CutStep cut, StageAssignment assignment, ScheduleKind schedule, MeshPrices prices) {
        this.cut = cut;
        this.assignment = assignment;
        this.schedule = schedule;
        this.problem = new SpmdProblem(input(), prices);
    }

    /**
     * The best decisions found. The solution says so if there are none under the limit.
     *
     * @param memoryLimitBytes that a device's values may take; {@link StrategyProblem#UNLIMITED} for any number
     */
    public Found find(long memoryLimitBytes, SolveOptions options) {
        Solution solution = StrategySolver.solve(integers(memoryLimitBytes), options, improvement -> {});
        ShardingDecisions decisions = solution.choices().isEmpty()
                ? new ShardingDecisions(List.of(), List.of())
                : problem.decisions(solution.choices());
        return new Found(decisions, solution);
    }

    /** The integer problem that {@link #find} solves, for measurements of the solver alone. */
    public StrategyProblem integers(long memoryLimitBytes) {
        return problem.integers(memoryLimitBytes);
    }

    /** By stage: the most bytes that values alive at the same time take on a device, each in its smallest piece. */
    public List<Long> leastBytesByStage() {
        return problem.leastBytesByStage(assignment.stages());
    }

    /** Nanoseconds that a step takes at least, whatever the shardings: each instruction with its quickest strategy. */
    public double leastNanos() {
        return ComputeFloor.nanos(
                cut.computation(),
                problem.freeById(),
                assignment.stages(),
                cut.microBatches(),
                id -> ComputeFloor.part(assignment.stage(id), assignment.phase(id)),
                problem::leastNanos);
    }

    private SpmdInput input() {
        Computation flat = cut.computation();
        List<Long> repeats = new ArrayList<>();
        for (int id = 0; id < flat.size(); id++) {
            repeats.add(cut.perMicroBatch(id) ? (long) cut.microBatches() : 1L);
        }
        return new SpmdInput(
                flat,
                assignment.stageById(),
                assignment.phaseById(),
                repeats,
                copies(),
                PlanCompiler.updatedParameters(cut));
    }

    /** Values that the backward pass of a micro-batch takes from its forward pass wait for it in as many copies as are in flight. */
    private List<Long> copies() {
        Computation flat = cut.computation();
        boolean[] waits = new boolean[flat.size()];
        for (Instruction user : flat.instructions()) {
            for (Instruction operand : user.operands()) {
                waits[operand.id()] |= assignment.phase(user.id()) == Phase.BACKWARD
                        && assignment.phase(operand.id()) == Phase.FORWARD;
            }
        }
        List<Long> copies = new ArrayList<>();
        for (int id = 0; id < flat.size(); id++) {
            copies.add(
                    waits[id]
                            ? (long) schedule.inFlightBound(
                                    assignment.stage(id), assignment.stages(), cut.microBatches())
                            : 1L);
        }
        return copies;
    }
}

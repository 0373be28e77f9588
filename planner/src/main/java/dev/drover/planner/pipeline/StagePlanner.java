package dev.drover.planner.pipeline;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Passes;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.StageChecker;
import java.time.Duration;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Finds the stages of a cut step: forward work by {@link StageProgram}, all else by {@link StageFollower}. */
public final class StagePlanner {
    /** Nodes of the contracted graph per stage, so that stages balance within some percent. */
    private static final int NODES_PER_STAGE = 24;

    private static final double[] LOOSER = {1, 2, 4, 8, 16};

    private StagePlanner() {}

    /**
     * How to look.
     *
     * @param tolerance by which a stage may exceed its share of the work at first (Rhino's UNBALANCED_RATIO, 0.08); loosened step by
     *     step where nothing fits
     * @param limit for the solver, as a last resort (its work is bounded by a count); after it the best cut of the program's own order
     *     is taken
     */
    public record Settings(double tolerance, Duration limit) {
        public static final Settings DEFAULT = new Settings(0.08, Duration.ofSeconds(60));
    }

    /**
     * What was found.
     *
     * @param bytesOverCuts per micro-batch forward, once per hop
     * @param heaviestShare work of the heaviest stage over the mean; 1 is perfect balance
     * @param nodes of the contracted graph
     * @param bySolver whether the integer program's answer was taken
     */
    public record Found(
            StageAssignment assignment, double bytesOverCuts, double heaviestShare, int nodes, boolean bySolver) {}

    /** Stages with work measured in flops (and elements, where there are none). */
    public static Found plan(CutStep cut, int stages) {
        return plan(cut, stages, StagePlanner::flops, Settings.DEFAULT);
    }

    /**
     * Stages.
     *
     * @param weight work of an instruction, in any unit, at least 0
     */
    public static Found plan(CutStep cut, int stages, ToDoubleFunction<Instruction> weight, Settings settings) {
        List<Phase> phases = Passes.of(cut);
        boolean[] free = FreeValues.of(cut.computation());
        if (stages == 1) {
            return new Found(StageAssignment.single(cut), 0, 1, 1, false);
        }
        double total = 0;
        for (Instruction instruction : cut.computation().instructions()) {
            if (phases.get(instruction.id()) == Phase.FORWARD && !free[instruction.id()]) {
                total += weight.applyAsDouble(instruction);
            }
        }
        StageGraph graph = new StageGraph(cut, phases, free, weight, total / (stages * NODES_PER_STAGE));
        if (graph.nodes() < stages) {
            throw new UserError(
                    "The stages (" + stages + ") of a plan must be at most the " + graph.nodes()
                            + " pieces that the forward work of step ("
                            + cut.step().graph().name() + ") falls into.",
                    "Maybe plan with fewer stages.");
        }
        int @Nullable [] best = null;
        boolean bySolver = false;
        double mean = graph.totalWeight() / stages;
        for (double looser : LOOSER) {
            double tolerance = settings.tolerance() * looser;
            best = StageCuts.solve(graph, stages, mean * (1 + tolerance));
            int @Nullable [] solved = new StageProgram(graph, stages, tolerance).solve(settings.limit());
            if (solved != null
                    && (best == null
                            || StageCuts.bytesOverCuts(graph, solved) < StageCuts.bytesOverCuts(graph, best))) {
                best = solved;
                bySolver = true;
            }
            if (best != null) {
                break;
            }
        }
        if (best == null) {
            best = StageCuts.solve(graph, stages, Double.POSITIVE_INFINITY);
        }
        if (best == null) {
            throw new IllegalStateException("The cut without a limit must exist.");
        }
        StageAssignment assignment =
                new StageAssignment(stages, new StageFollower(cut, phases, free, graph, best).stages(), phases);
        StageChecker.check(cut, assignment);
        return new Found(
                assignment,
                StageCuts.bytesOverCuts(graph, best),
                mean > 0 ? StageCuts.maxWeight(graph, best, stages) / mean : 1,
                graph.nodes(),
                bySolver);
    }

    private static double flops(Instruction instruction) {
        double flops = instruction.op().flops(instruction.operandShapes(), instruction.shape());
        long elements = instruction.shape().leaves().stream()
                .mapToLong(ArrayShape::elements)
                .sum();
        return flops + (instruction.op().isView() ? 0 : elements);
    }
}

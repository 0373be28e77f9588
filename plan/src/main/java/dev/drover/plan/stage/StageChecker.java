package dev.drover.plan.stage;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.TupleShape;

/** Checks that values flow with the stages and phases of an assignment. */
public final class StageChecker {
    private final CutStep cut;
    private final StageAssignment assignment;

    private StageChecker(CutStep cut, StageAssignment assignment) {
        this.cut = cut;
        this.assignment = assignment;
    }

    /**
     * Fails with {@link IllegalArgumentException} at the first value that flows the wrong way: forward work uses forward values of its
     * own or earlier stages, backward work uses backward values of its own or later stages, PRE uses PRE only.
     */
    public static void check(CutStep cut, StageAssignment assignment) {
        int n = cut.computation().size();
        if (assignment.stageById().size() != n || assignment.phaseById().size() != n) {
            throw new IllegalArgumentException(
                    "The stages (" + assignment.stageById().size() + ") of an assignment must be as many as the step's "
                            + n + " instructions.");
        }
        boolean[] free = FreeValues.of(cut.computation());
        StageChecker checker = new StageChecker(cut, assignment);
        for (Instruction instruction : cut.computation().instructions()) {
            int stage = assignment.stage(instruction.id());
            if (stage < 0 || stage >= assignment.stages()) {
                throw new IllegalArgumentException("The stage (" + stage + ") of instruction (" + instruction.name()
                        + ") must be below " + assignment.stages() + ".");
            }
            if (!free[instruction.id()] && !(instruction.op() instanceof Tuple)) {
                checker.checkSources(instruction, instruction, free);
            }
        }
    }

    /** A tuple that a loop or branch takes is made where it is taken; its elements flow. */
    private void checkSources(Instruction made, Instruction user, boolean[] free) {
        for (Instruction source : FreeValues.sources(made, free)) {
            if (source.op() instanceof Tuple) {
                checkSources(source, user, free);
            } else if (!(source.op() instanceof Parameter)) {
                checkEdge(source, user);
            }
        }
    }

    private void checkEdge(Instruction from, Instruction to) {
        Phase made = assignment.phase(from.id());
        Phase used = assignment.phase(to.id());
        int fromStage = assignment.stage(from.id());
        int toStage = assignment.stage(to.id());
        boolean fits = switch (used) {
            case PRE -> made == Phase.PRE;
            case FORWARD -> made == Phase.PRE || (made == Phase.FORWARD && fromStage <= toStage);
            case BACKWARD ->
                made == Phase.PRE || made == Phase.FORWARD || (made == Phase.BACKWARD && fromStage >= toStage);
            case POST -> !made.perMicroBatch() || FreeValues.isTaskWork(to);
        };
        if (from.shape() instanceof TupleShape) {
            fits &= made == used && fromStage == toStage;
        }
        if (!fits) {
            throw new IllegalArgumentException("The value (" + from.name() + ") of stage " + fromStage + ", " + made
                    + ", must not be used by " + to.name() + " of stage " + toStage + ", " + used + ", in step ("
                    + cut.step().graph().name() + ").");
        }
    }
}

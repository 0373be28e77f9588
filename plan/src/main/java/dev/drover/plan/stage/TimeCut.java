package dev.drover.plan.stage;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Cuts a flat training step into micro-batches: a cut of the batch along the virtual axis "time".
 *
 * <pre>
 * loss, new_w = step(w, x[16,..])            PRE    (what depends on no batch data)
 *                                     -&gt;     EACH   (x[4,..] and what is cut or partial along time)
 *                                            POST   (accumulated values, optimizer)
 * </pre>
 */
public final class TimeCut {
    private static final int MAX_TRIES = 256;
    /** Share of the heavy work that a good cut leaves to the micro-batches; cutting a contracted dim leaves little. */
    private static final double MOST = 0.5;

    private TimeCut() {}

    /**
     * The step in {@code microBatches} micro-batches. Refuses (naming the op) steps that mix samples, and numbers that do not
     * divide the batch. One micro-batch is always possible.
     *
     * @param step must be flat, and its batch inputs known by role
     * @param joinLate whether sums of gradients that may come from different stages are made once per step (takes more memory,
     *     needed if the step is also cut into stages)
     */
    public static CutStep cut(TrainingStep step, int microBatches, boolean joinLate) {
        if (microBatches < 1) {
            throw new UserError("The micro-batches (" + microBatches + ") of a plan must be at least 1.");
        }
        List<List<Integer>> candidates = candidates(step, microBatches);
        TimeStates states = infer(step, microBatches, candidates);
        states.accumulateEarly(joinLate);
        return new TimeCutBuilder(step, states).build();
    }

    /** How many samples a step takes: the size of the first batch input's first dim; 1 if there is none. */
    public static long batchSize(TrainingStep step) {
        for (int input : step.inputs(InputRole.Kind.BATCH)) {
            ArrayShape shape = step.inputShapes().get(input);
            if (shape.rank() > 0) {
                return shape.dim(0);
            }
        }
        return 1;
    }

    private static TimeStates infer(TrainingStep step, int microBatches, List<List<Integer>> candidates) {
        @Nullable TimeConflict first = null;
        List<Integer> firstDims = List.of();
        @Nullable TimeStates best = null;
        int[] at = new int[candidates.size()];
        for (int tries = 0; tries < MAX_TRIES; tries++) {
            List<Integer> dims = new ArrayList<>();
            for (int i = 0; i < at.length; i++) {
                dims.add(candidates.get(i).get(at[i]));
            }
            TimeStates states = TimeStates.infer(step, microBatches, dims);
            if (states.conflict() == null) {
                if (states.heavyShare() >= MOST) {
                    return states;
                }
                best = best == null || states.heavyShare() > best.heavyShare() ? states : best;
            }
            if (first == null && states.conflict() != null) {
                first = states.conflict();
                firstDims = dims;
            }
            if (!next(at, candidates)) {
                break;
            }
        }
        if (best != null) {
            return best;
        }
        if (microBatches == 1) {
            return TimeStates.trivial(
                    step, candidates.stream().map(list -> list.get(0)).toList());
        }
        throw new UserError(
                "The step (" + step.graph().name() + ") must be free of ops that mix samples to be cut into "
                        + microBatches + " micro-batches.\n"
                        + (first == null ? "" : first.text(TimeStates.conflicts(step, microBatches, firstDims) - 1)),
                "Maybe plan with --micro-batches 1, or, where an input is no batch, say so" + inRolesFile(step, "OTHER")
                        + ".");
    }

    /** Counts up, the last input fastest. Returns false after the last combination. */
    private static boolean next(int[] at, List<List<Integer>> candidates) {
        for (int i = at.length - 1; i >= 0; i--) {
            if (++at[i] < candidates.get(i).size()) {
                return true;
            }
            at[i] = 0;
        }
        return false;
    }

    /** By input, the dims that may count samples, likeliest first; -1 stands for an input that is not cut. */
    private static List<List<Integer>> candidates(TrainingStep step, int microBatches) {
        List<List<Integer>> out = new ArrayList<>();
        List<ArrayShape> shapes = step.inputShapes();
        for (int i = 0; i < step.inputs().size(); i++) {
            ArrayShape shape = shapes.get(i);
            if (step.inputs().get(i).kind() != InputRole.Kind.BATCH || shape.rank() == 0) {
                out.add(Collections.singletonList(-1));
                continue;
            }
            List<Integer> dims = new ArrayList<>();
            for (int d = 0; d < shape.rank(); d++) {
                if (shape.dim(d) % microBatches == 0 && (shape.dim(d) > 1 || microBatches == 1)) {
                    dims.add(d);
                }
            }
            if (dims.isEmpty() || (dims.get(0) != 0 && shape.dim(0) == batchSize(step))) {
                throw new UserError(
                        "The micro-batches (" + microBatches + ") of step ("
                                + step.graph().name() + ") must divide the batch (" + shape.dim(0) + ") of input ("
                                + step.inputs().get(i).name() + ").",
                        "Maybe use --micro-batches " + largestDivisor(shape.dim(0), microBatches)
                                + (shape.dim(0) == batchSize(step)
                                        ? "."
                                        : ", or, where it is no batch, say so" + inRolesFile(step, "OTHER", i) + "."));
            }
            out.add(dims);
        }
        if (out.stream().allMatch(dims -> dims.get(0) < 0) && microBatches > 1) {
            throw new UserError(
                    "The step (" + step.graph().name() + ") must have a batch input to be cut into micro-batches.",
                    "Maybe say which it is" + inRolesFile(step, "BATCH") + ", or plan with --micro-batches 1.");
        }
        return out;
    }

    /** Where roles that were found are corrected, with the first input that could have been found wrongly. */
    private static String inRolesFile(TrainingStep step, String role) {
        boolean[] stateByInput = step.stateByInput();
        int input = 0;
        while (input < stateByInput.length - 1
                && (stateByInput[input] || step.inputShapes().get(input).rank() == 0)) {
            input++;
        }
        return inRolesFile(step, role, input);
    }

    private static String inRolesFile(TrainingStep step, String role, int input) {
        return " in the file MODEL.roles.json beside the model, as in {\"inputs\": {\""
                + step.inputs().get(input).name() + "\": \"" + role + "\"}}";
    }

    private static long largestDivisor(long batch, int atMost) {
        for (long d = Math.min(batch, atMost); d > 1; d--) {
            if (batch % d == 0) {
                return d;
            }
        }
        return 1;
    }
}

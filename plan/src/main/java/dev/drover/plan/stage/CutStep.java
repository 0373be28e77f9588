package dev.drover.plan.stage;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Parameter;
import dev.drover.plan.task.TensorSlice;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A training step cut along time: work of PRE and POST is done once, that of FORWARD (here: any per-micro-batch work; the stage cut
 * tells forward from backward) once per micro-batch, on micro-batch-local shapes. Values of all micro-batches enter per-step work
 * through {@link Accumulate} and {@link Stack} only. The root is a tuple of the step's outputs, all made once.
 *
 * @param step the flat step that was cut
 * @param computation the cut program
 * @param inputs by parameter number of {@code computation}
 * @param phases by instruction id of {@code computation}: PRE, FORWARD or POST
 * @param origins by instruction id of {@code computation}: the id in the flat step's entry that it was made for
 */
public record CutStep(
        TrainingStep step,
        int microBatches,
        Computation computation,
        List<CutInput> inputs,
        List<Phase> phases,
        List<Integer> origins) {

    /**
     * Where a parameter comes from.
     *
     * @param input of the step; -1 for the number of the micro-batch, {@code s32[]}
     * @param cut the digit that counts micro-batches ({@code index} is 0 and stands for any); null for values given once a step
     */
    public record CutInput(int input, TensorSlice.@Nullable Cut cut) {
        /** The number of the micro-batch. */
        public static final CutInput MICRO_BATCH_INDEX = new CutInput(-1, null);

        /** Whether its value is another for each micro-batch. */
        public boolean perMicroBatch() {
            return input < 0 || cut != null;
        }
    }

    public CutStep {
        inputs = List.copyOf(inputs);
        phases = List.copyOf(phases);
        origins = List.copyOf(origins);
        if (inputs.size() != computation.parameters().size()
                || phases.size() != computation.size()
                || origins.size() != computation.size()) {
            throw new IllegalArgumentException("The lists of a cut step (" + inputs.size() + ", " + phases.size() + ", "
                    + origins.size() + ") must fit its computation.");
        }
    }

    /** Where an instruction of {@link #computation} that is a parameter comes from; null for others. */
    public @Nullable CutInput input(int id) {
        return computation.instructions().get(id).op() instanceof Parameter parameter
                ? inputs.get(parameter.number())
                : null;
    }

    public boolean perMicroBatch(int id) {
        return phases.get(id).perMicroBatch();
    }
}

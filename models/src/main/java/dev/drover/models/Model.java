package dev.drover.models;

import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.init.InitialValue;
import java.util.List;

/**
 * A model of the zoo, ready to be planned and trained.
 *
 * @param name its name with the options that were given
 * @param step the training step: inputs are parameters, optimizer state, step counter, batch; outputs their updates and, last, the
 *     loss
 * @param forward the forward part alone: inputs are parameters and batch; outputs the prediction and, last, the loss
 * @param initialValues of the step's leading inputs, all but the batch, in their order
 * @param batch the step's trailing inputs, in their order
 * @param parameterCount trained numbers
 * @param samples what one step consumes: tokens for language models, else batch entries
 * @param sampleUnit what is counted: a token, an image or another batch entry
 */
public record Model(
        String name,
        TrainingStep step,
        TrainingStep forward,
        List<InitialValue> initialValues,
        List<BatchInput> batch,
        long parameterCount,
        long samples,
        String sampleUnit) {

    public Model {
        initialValues = List.copyOf(initialValues);
        batch = List.copyOf(batch);
        if (initialValues.size() + batch.size() != step.inputs().size()) {
            throw new IllegalArgumentException("The inputs (" + step.inputs().size() + ") of model (" + name
                    + ") must be its initial values and its batch.");
        }
    }
}

package dev.drover.models;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import java.util.ArrayList;
import java.util.List;

/** Runs a model by the reference evaluator: state and a batch, step by step. */
final class ModelRun {
    private final Model model;
    private final List<Literal> state = new ArrayList<>();
    private final List<Literal> batch = new ArrayList<>();

    ModelRun(Model model, long seed) {
        this.model = model;
        for (InitialValue value : model.initialValues()) {
            state.add(InitialValues.fill(value, seed));
        }
        for (BatchInput input : model.batch()) {
            batch.add(batchValue(model, input, seed));
        }
    }

    /** Batches that can be learnt: labels follow from tokens, classes from features. */
    private static Literal batchValue(Model model, BatchInput input, long seed) {
        switch (input.kind()) {
            case TOKENS, NEXT_TOKENS -> {
                int shift = input.kind() == BatchInput.Kind.TOKENS ? 0 : 1;
                int seq = (int) input.shape().dim(1);
                long[] tokens = new long[(int) input.shape().elements()];
                for (int i = 0; i < tokens.length; i++) {
                    // Row r walks round the vocabulary in strides of its own.
                    long stride = 1L + i / seq % 3;
                    tokens[i] = ((long) i / seq + (long) (i % seq + shift) * stride) % input.limit();
                }
                return Literal.ofLongs(input.shape(), tokens);
            }
            case CLASSES -> {
                Literal features = batchValue(model, model.batch().get(0), seed);
                int width = features.size() / (int) input.shape().elements();
                long[] classes = new long[(int) input.shape().elements()];
                for (int i = 0; i < classes.length; i++) {
                    classes[i] = features.doubles()[i * width] > 0 ? 1 : 0;
                }
                return Literal.ofLongs(input.shape(), classes);
            }
            case UNIFORM -> {
                return InitialValues.fill(
                        new InitialValue(input.name(), input.shape(), new Distribution.Uniform(0, 1)), seed);
            }
            default -> {
                return InitialValues.fill(new InitialValue(input.name(), input.shape(), Distribution.normal(1)), seed);
            }
        }
    }

    List<Literal> state() {
        return state;
    }

    List<Literal> batch() {
        return batch;
    }

    /** Makes one step and returns the loss. */
    double step() {
        List<Literal> outputs = outputs(model.step(), state);
        double loss = Double.NaN;
        for (int i = 0; i < outputs.size(); i++) {
            OutputRole role = model.step().outputs().get(i);
            if (role.kind() == OutputRole.Kind.UPDATE) {
                state.set(role.input(), outputs.get(i));
            } else if (role.kind() == OutputRole.Kind.LOSS) {
                loss = outputs.get(i).asDouble(0);
            }
        }
        return loss;
    }

    /** The loss of the forward graph with other parameters. */
    double forwardLoss(List<Literal> parameters) {
        return outputs(model.forward(), parameters).get(1).asDouble(0);
    }

    /** Runs any step with these inputs before the batch. */
    List<Literal> outputs(TrainingStep step, List<Literal> leading) {
        List<Literal> inputs = new ArrayList<>(leading);
        inputs.addAll(batch);
        Value value = Evaluator.evaluate(step.graph().entry(), inputs);
        return ((Value.Tuple) value).elements().stream().map(Value::literal).toList();
    }
}

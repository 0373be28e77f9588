package dev.drover.ir.grad;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.pass.DeadCode;
import dev.drover.ir.pass.Inlining;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes a training step from a forward function. Inputs come in the order parameters, optimizer state (parameter by parameter),
 * step counter if one is needed, batch; outputs in the order of the inputs that they update, which they alias, then the loss.
 *
 * <p>Optimizer arithmetic and state are f32, or f64 for f64 parameters: for mixed precision the parameters are f32 (the master
 * weights) and the forward function converts them.
 */
public final class TrainingSteps {
    private TrainingSteps() {}

    /** A named input. */
    public record Input(String name, ArrayShape shape) {}

    /** Appends the loss, a scalar, as the forward part of a step. */
    @FunctionalInterface
    public interface Forward {
        Instruction loss(Gradients gradients, List<Instruction> parameters, List<Instruction> batch);
    }

    /**
     * How to train.
     *
     * @param optimizer the update rule
     * @param rate the learning rate
     * @param clipNorm gradients are scaled down to this global norm if they exceed it; 0 for no clipping
     * @param lossScale the loss is multiplied by this before, the gradients divided by it after differentiation, to keep f16
     *     cotangents from vanishing; 1 for none
     */
    public record Options(Optimizer optimizer, LearningRate rate, double clipNorm, double lossScale) {
        public Options {
            if (!(clipNorm >= 0) || !(lossScale > 0)) {
                throw new IllegalArgumentException("The clip norm (" + clipNorm
                        + ") must be at least 0, and the loss scale (" + lossScale + ") above 0.");
            }
        }

        public Options(Optimizer optimizer, LearningRate rate) {
            this(optimizer, rate, 0, 1);
        }
    }

    /** Differentiates the loss and appends the optimizer. */
    public static TrainingStep build(
            String name, List<Input> parameters, List<Input> batch, Forward forward, Options options) {
        return new Construction(name, options).build(parameters, batch, forward);
    }

    /**
     * Makes a training step from a forward graph that yields a loss. Inputs that are no parameters become batch inputs; other outputs go
     * away. Calls are inlined.
     */
    public static TrainingStep of(TrainingStep forward, Options options) {
        Graph graph = forward.graph();
        List<Input> parameters = new ArrayList<>();
        List<Input> batch = new ArrayList<>();
        // By number of the forward graph's parameter: where its value is, counting parameters first.
        int[] positions = new int[forward.inputs().size()];
        int parameterCount = forward.inputs(InputRole.Kind.PARAMETER).size();
        for (int i = 0; i < positions.length; i++) {
            InputRole role = forward.inputs().get(i);
            Input input =
                    new Input(role.name(), graph.entry().parameters().get(i).array());
            boolean trained = role.kind() == InputRole.Kind.PARAMETER;
            positions[i] = trained ? parameters.size() : parameterCount + batch.size();
            (trained ? parameters : batch).add(input);
        }
        int lossOutput = forward.loss();
        if (lossOutput < 0) {
            throw new UserError("The outputs (" + forward.outputs().size() + ") of graph (" + graph.name()
                    + ") must include a loss.");
        }
        return build(
                graph.name(),
                parameters,
                batch,
                (gradients, values, data) -> {
                    List<Instruction> arguments = new ArrayList<>();
                    for (int position : positions) {
                        arguments.add(
                                position < parameterCount ? values.get(position) : data.get(position - parameterCount));
                    }
                    Instruction root = Inlining.append(gradients.builder(), graph.entry(), arguments);
                    if (root.op() instanceof Tuple) {
                        return root.operand(lossOutput);
                    }
                    boolean single = root.shape() instanceof ArrayShape;
                    return single ? root : new OpBuilder(gradients.builder()).element(root, lossOutput);
                },
                options);
    }

    private static final class Construction {
        private final String name;
        private final Options options;
        private final ComputationBuilder builder;
        private final OpBuilder ops;
        private final List<InputRole> inputs = new ArrayList<>();
        private final Map<DType, Optimizer.Rule> ruleByType = new EnumMap<>(DType.class);
        private @Nullable Instruction counter;

        Construction(String name, Options options) {
            this.name = name;
            this.options = options;
            this.builder = new ComputationBuilder(name);
            this.ops = new OpBuilder(builder);
        }

        TrainingStep build(List<Input> parameters, List<Input> batch, Forward forward) {
            List<Instruction> values = new ArrayList<>();
            for (Input parameter : parameters) {
                values.add(input(InputRole.Kind.PARAMETER, parameter.name(), parameter.shape()));
            }
            List<List<Instruction>> states = new ArrayList<>();
            for (Input parameter : parameters) {
                ArrayShape shape =
                        parameter.shape().withDType(arithmetic(parameter.shape().dtype()));
                List<Instruction> state = new ArrayList<>();
                for (String stateName : options.optimizer().stateNames()) {
                    state.add(input(InputRole.Kind.OPTIMIZER_STATE, parameter.name() + "." + stateName, shape));
                }
                states.add(state);
            }
            if (options.optimizer().usesStep() || options.rate().usesStep()) {
                counter = input(InputRole.Kind.COUNTER, "step", ArrayShape.scalar(DType.S32));
            }
            List<Instruction> data = new ArrayList<>();
            for (Input input : batch) {
                data.add(input(InputRole.Kind.BATCH, input.name(), input.shape()));
            }
            Gradients gradients = new Gradients(builder);
            Instruction loss = forward.loss(gradients, values, data);
            return finish(loss, values, states, scaled(gradients(gradients, loss, values)));
        }

        private Instruction input(InputRole.Kind kind, String inputName, ArrayShape shape) {
            inputs.add(new InputRole(kind, inputName));
            return builder.parameter(inputName, shape);
        }

        private List<Instruction> gradients(Gradients gradients, Instruction loss, List<Instruction> values) {
            Instruction scaledLoss = options.lossScale() == 1 ? loss : ops.mul(loss, options.lossScale());
            List<Instruction> out = new ArrayList<>();
            for (Instruction gradient : gradients.of(scaledLoss, values)) {
                out.add(converted(gradient, arithmetic(gradient.array().dtype())));
            }
            return out;
        }

        /** Undoes the loss scale and clips. */
        private List<Instruction> scaled(List<Instruction> gradients) {
            double inverse = 1 / options.lossScale();
            if (options.clipNorm() == 0) {
                return inverse == 1
                        ? gradients
                        : gradients.stream().map(g -> ops.mul(g, inverse)).toList();
            }
            DType dtype = gradients.stream().anyMatch(g -> g.array().dtype() == DType.F64) ? DType.F64 : DType.F32;
            Instruction squares = ops.constant(dtype, 0);
            for (Instruction gradient : gradients) {
                squares = ops.add(squares, converted(ops.sumAll(ops.mul(gradient, gradient)), dtype));
            }
            Instruction norm = ops.mul(ops.sqrt(squares), ops.constant(dtype, inverse));
            Instruction limit = ops.constant(dtype, options.clipNorm());
            Instruction factor = ops.div(ops.constant(dtype, options.clipNorm() * inverse), ops.max(norm, limit));
            return gradients.stream()
                    .map(g -> ops.mul(g, converted(factor, g.array().dtype())))
                    .toList();
        }

        private TrainingStep finish(
                Instruction loss,
                List<Instruction> values,
                List<List<Instruction>> states,
                List<Instruction> gradients) {
            List<Instruction> outputs = new ArrayList<>();
            List<Instruction> nextStates = new ArrayList<>();
            for (int i = 0; i < values.size(); i++) {
                Instruction value = values.get(i);
                DType dtype = arithmetic(value.array().dtype());
                Optimizer.Update update = rule(dtype).update(converted(value, dtype), gradients.get(i), states.get(i));
                outputs.add(converted(update.parameter(), value.array().dtype()));
                nextStates.addAll(update.state());
            }
            outputs.addAll(nextStates);
            if (counter != null) {
                outputs.add(ops.add(counter, ops.constant(DType.S32, 1)));
            }
            List<OutputRole> roles = new ArrayList<>();
            List<Graph.Alias> aliases = new ArrayList<>();
            for (int i = 0; i < outputs.size(); i++) {
                roles.add(OutputRole.update(i));
                aliases.add(new Graph.Alias(List.of(i), i, List.of(), false));
            }
            outputs.add(loss);
            roles.add(OutputRole.LOSS);
            Graph graph = DeadCode.drop(new Graph(name, builder.build(ops.tuple(outputs)), aliases, Map.of()));
            return new TrainingStep(graph, inputs, roles);
        }

        private Optimizer.Rule rule(DType dtype) {
            Optimizer.Rule rule = ruleByType.get(dtype);
            if (rule == null) {
                Instruction stepsDone = counter == null ? null : ops.convert(counter, dtype);
                Instruction rate = options.rate().at(ops, dtype, stepsDone);
                rule = options.optimizer().prepare(ops, dtype, rate, stepsDone);
                ruleByType.put(dtype, rule);
            }
            return rule;
        }

        private Instruction converted(Instruction value, DType dtype) {
            return value.array().dtype() == dtype ? value : ops.convert(value, dtype);
        }

        private static DType arithmetic(DType parameter) {
            return parameter == DType.F64 ? DType.F64 : DType.F32;
        }
    }
}

package dev.drover.models;

import dev.drover.ir.UserError;
import dev.drover.ir.grad.Adam;
import dev.drover.ir.grad.Gradients;
import dev.drover.ir.grad.LearningRate;
import dev.drover.ir.grad.Optimizer;
import dev.drover.ir.grad.Sgd;
import dev.drover.ir.grad.TrainingSteps;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Makes a {@link Model} from a forward function: finds its parameters, then builds the forward graph and the training step. */
final class ModelAssembly {
    private static final List<String> OPTIMIZERS = List.of("adam", "adamw", "momentum", "nesterov", "sgd");

    private ModelAssembly() {}

    /** The options that all models share, after a model's own. */
    static List<ModelOption> withTraining(List<ModelOption> own, String optimizer, String rate) {
        List<ModelOption> all = new ArrayList<>(own);
        all.add(ModelOption.choice("optimizer", optimizer, OPTIMIZERS, "the update rule"));
        all.add(ModelOption.number("lr", rate, "the (highest) learning rate"));
        all.add(ModelOption.count("warmup", 0, "steps over which the learning rate rises"));
        all.add(ModelOption.count(
                "decay", 0, "steps after the warm-up over which it falls to a tenth along half a cosine"));
        all.add(ModelOption.number("weightDecay", "0.01", "for adamw"));
        all.add(ModelOption.number("momentum", "0.9", "for momentum and nesterov"));
        all.add(ModelOption.number("clip", "0", "gradients are scaled down to this global norm; 0 for never"));
        all.add(ModelOption.choice(
                "dtype",
                "f32",
                List.of("f32", "bf16", "f16", "f64"),
                "type of the arithmetic; parameters are f32 (f64 for f64)"));
        all.add(ModelOption.number("lossScale", "1", "the loss is multiplied by it while differentiating, for f16"));
        return List.copyOf(all);
    }

    private static DType computeType(ModelOptions options) {
        return switch (options.text("dtype")) {
            case "bf16" -> DType.BF16;
            case "f16" -> DType.F16;
            case "f64" -> DType.F64;
            default -> DType.F32;
        };
    }

    /** The type of parameters and of float batch inputs. */
    static DType masterType(ModelOptions options) {
        return computeType(options) == DType.F64 ? DType.F64 : DType.F32;
    }

    /** Refuses an option that the optimizer would pass over. */
    private static void checkUsed(ModelOptions options, String key, List<String> users) {
        String optimizer = options.text("optimizer");
        if (options.isGiven(key) && !users.contains(optimizer)) {
            throw new UserError(
                    "The " + key + " (" + options.text(key) + ") of model (" + options.model()
                            + ") must be left out, since optimizer (" + optimizer + ") does not use it.",
                    "Maybe optimizer=" + users.get(0) + ".");
        }
    }

    private static TrainingSteps.Options training(ModelOptions options) {
        double momentum = options.number("momentum");
        String name = options.text("optimizer");
        if (momentum >= 1 || momentum == 0 && name.equals("nesterov")) {
            throw options.refusal("momentum", "be below 1, and above 0 for nesterov");
        }
        checkUsed(options, "momentum", List.of("momentum", "nesterov"));
        checkUsed(options, "weightDecay", List.of("adamw"));
        if (options.number("lossScale") == 0) {
            throw options.refusal("lossScale", "be above 0");
        }
        Optimizer optimizer = switch (name) {
            case "adam" -> Adam.customary();
            case "adamw" -> new Adam(0.9, 0.999, 1e-8, options.number("weightDecay"));
            case "momentum" -> new Sgd(momentum, false, 0);
            case "nesterov" -> new Sgd(momentum, true, 0);
            default -> Sgd.plain();
        };
        LearningRate rate =
                new LearningRate(options.number("lr"), options.integer("warmup"), options.integer("decay"), 0.1);
        return new TrainingSteps.Options(optimizer, rate, options.number("clip"), options.number("lossScale"));
    }

    /** Builds a model whose name and training options are as given. */
    static Model assemble(
            ModelOptions options, List<BatchInput> batch, ModelBody body, long samples, String sampleUnit) {
        DType compute = computeType(options);
        List<InitialValue> parameters = parameters(options, batch, body, compute);
        TrainingStep step = TrainingSteps.build(
                graphName(options),
                parameters.stream()
                        .map(p -> new TrainingSteps.Input(p.name(), p.shape()))
                        .toList(),
                batch.stream()
                        .map(b -> new TrainingSteps.Input(b.name(), b.shape()))
                        .toList(),
                (gradients, values, data) -> body.build(
                                new Layers(new OpBuilder(gradients.builder()), gradients, compute),
                                new Known(parameters, values),
                                data)
                        .loss(),
                training(options));
        Map<String, InitialValue> byName = new HashMap<>();
        parameters.forEach(p -> byName.put(p.name(), p));
        List<InitialValue> initialValues = new ArrayList<>();
        for (int i = 0; i < step.inputs().size() - batch.size(); i++) {
            String name = step.inputs().get(i).name();
            InitialValue parameter = byName.get(name);
            initialValues.add(
                    parameter != null
                            ? parameter
                            : new InitialValue(name, step.inputShapes().get(i), Distribution.zeros()));
        }
        return new Model(
                options.name(),
                step,
                forward(options, batch, body, compute, parameters),
                initialValues,
                batch,
                parameters.stream().mapToLong(p -> p.shape().elements()).sum(),
                samples,
                sampleUnit);
    }

    private static String graphName(ModelOptions options) {
        return options.model();
    }

    /** Builds once to see which parameters are asked for, in which order. */
    private static List<InitialValue> parameters(
            ModelOptions options, List<BatchInput> batch, ModelBody body, DType compute) {
        ComputationBuilder builder = new ComputationBuilder(graphName(options));
        Declared declared = new Declared(builder, masterType(options));
        List<Instruction> data =
                batch.stream().map(b -> builder.parameter(b.name(), b.shape())).toList();
        body.build(new Layers(new OpBuilder(builder), new Gradients(builder), compute), declared, data);
        return List.copyOf(declared.values.values());
    }

    private static TrainingStep forward(
            ModelOptions options,
            List<BatchInput> batch,
            ModelBody body,
            DType compute,
            List<InitialValue> parameters) {
        ComputationBuilder builder = new ComputationBuilder(graphName(options) + "_forward");
        List<InputRole> inputs = new ArrayList<>();
        List<Instruction> values = new ArrayList<>();
        for (InitialValue parameter : parameters) {
            inputs.add(new InputRole(InputRole.Kind.PARAMETER, parameter.name()));
            values.add(builder.parameter(parameter.name(), parameter.shape()));
        }
        List<Instruction> data = new ArrayList<>();
        for (BatchInput input : batch) {
            inputs.add(new InputRole(InputRole.Kind.BATCH, input.name()));
            data.add(builder.parameter(input.name(), input.shape()));
        }
        OpBuilder ops = new OpBuilder(builder);
        ModelBody.Result result =
                body.build(new Layers(ops, new Gradients(builder), compute), new Known(parameters, values), data);
        Graph graph = new Graph(builder.name(), builder.build(ops.tuple(List.of(result.prediction(), result.loss()))));
        return new TrainingStep(graph, inputs, List.of(OutputRole.METRIC, OutputRole.LOSS));
    }

    private static final class Declared implements Weights {
        private final ComputationBuilder builder;
        private final DType dtype;
        private final Map<String, InitialValue> values = new LinkedHashMap<>();
        private final Map<String, Instruction> made = new HashMap<>();

        Declared(ComputationBuilder builder, DType dtype) {
            this.builder = builder;
            this.dtype = dtype;
        }

        @Override
        public Instruction get(String name, Distribution distribution, long... dims) {
            InitialValue value = new InitialValue(name, ArrayShape.of(dtype, dims), distribution);
            InitialValue before = values.putIfAbsent(name, value);
            if (before != null && !before.equals(value)) {
                throw new IllegalStateException("The parameter (" + value + ") must be as before (" + before + ").");
            }
            return made.computeIfAbsent(name, n -> builder.parameter(n, value.shape()));
        }
    }

    private record Known(Map<String, Instruction> values) implements Weights {
        Known(List<InitialValue> parameters, List<Instruction> instructions) {
            this(new HashMap<>());
            for (int i = 0; i < parameters.size(); i++) {
                values.put(parameters.get(i).name(), instructions.get(i));
            }
        }

        @Override
        public Instruction get(String name, Distribution distribution, long... dims) {
            Instruction value = values.get(name);
            if (value == null) {
                throw new IllegalStateException("The parameter (" + name + ") must have been declared.");
            }
            return value;
        }
    }
}

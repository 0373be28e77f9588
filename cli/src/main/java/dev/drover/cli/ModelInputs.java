package dev.drover.cli;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.models.BatchInput;
import dev.drover.models.Model;
import dev.drover.runtime.data.BatchSource;
import dev.drover.runtime.data.GivenValue;
import dev.drover.runtime.data.Synthetic;
import dev.drover.runtime.data.TokenText;
import dev.drover.runtime.worker.InitialState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What a model's inputs are fed: initial values of the state, by rule or by value, and sources of data.
 *
 * @param initial rules for state inputs
 * @param values state inputs whose value is given
 * @param data sources of the inputs that are fed at each step
 * @param note what people should know about it
 */
record ModelInputs(InitialState initial, Map<Integer, GivenValue> values, Map<Integer, BatchSource> data, String note) {

    /** Different bytes, which are the tokens of a text. */
    private static final int BYTES = 256;

    private static final ModelInputs NOTHING = new ModelInputs(InitialState.NONE, Map.of(), Map.of(), "");

    private static final int NAMED_AT_MOST = 10;
    private static final int STEPS_AHEAD = 8;
    private static final long AHEAD_BYTES = 256L << 20;

    /** Made for a model: zoo models say what they want; other files get made-up values. */
    static ModelInputs of(LoadedModel model, @Nullable Path text, long seed) {
        Model zoo = model.zoo();
        if (zoo == null && text != null) {
            throw new UserError("The data (" + text + ") can be given to models of text of the zoo only; "
                    + model.source() + " is none.");
        }
        return zoo != null ? ofZoo(zoo, text, seed) : ofFile(model.flat(), seed);
    }

    private static ModelInputs ofZoo(Model model, @Nullable Path data, long seed) {
        Map<Integer, InitialValue> rules = new TreeMap<>();
        for (int i = 0; i < model.initialValues().size(); i++) {
            rules.put(i, model.initialValues().get(i));
        }
        Map<Integer, BatchSource> sources = new TreeMap<>();
        String note = "data is made up";
        @Nullable TokenText text = null;
        for (int i = 0; i < model.batch().size(); i++) {
            BatchInput input = model.batch().get(i);
            int number = model.initialValues().size() + i;
            boolean tokens = input.kind() == BatchInput.Kind.TOKENS || input.kind() == BatchInput.Kind.NEXT_TOKENS;
            if (tokens && text == null) {
                Path path = data != null ? data : ownDocs();
                text = TokenText.read(path, seed);
                note = "data is the text of " + path + " (" + text.size() + " bytes)"
                        + (input.limit() < BYTES
                                ? "; with a vocabulary of " + input.limit() + " a token is a byte modulo "
                                        + input.limit()
                                : "");
            }
            sources.put(number, source(model, input, number, text, sources, seed));
        }
        if (data != null && text == null) {
            throw new UserError(
                    "The data (" + data + ") can be given to models of text only; " + model.name() + " is none.");
        }
        return new ModelInputs(new InitialState(seed, rules), Map.of(), sources, note);
    }

    private static BatchSource source(
            Model model,
            BatchInput input,
            int number,
            @Nullable TokenText text,
            Map<Integer, BatchSource> before,
            long seed) {
        ArrayShape shape = input.shape();
        return switch (input.kind()) {
            case TOKENS -> windows(text, shape, 0, input.limit());
            case NEXT_TOKENS -> windows(text, shape, 1, input.limit());
            case CLASSES -> classes(model, input, before, seed);
            case UNIFORM -> Synthetic.drawn(shape, new Distribution.Uniform(0, 1), input.name(), seed + number);
            case IMAGES -> Synthetic.drawnOnce(shape, new Distribution.Normal(0.5), input.name(), seed);
            default -> Synthetic.drawn(shape, new Distribution.Normal(1), input.name(), seed + number);
        };
    }

    private static BatchSource windows(@Nullable TokenText text, ArrayShape shape, int shift, long limit) {
        if (text == null) {
            throw new IllegalStateException("The text must be read.");
        }
        return text.windows(shape, shift, limit);
    }

    private static BatchSource classes(Model model, BatchInput input, Map<Integer, BatchSource> before, long seed) {
        for (int i = 0; i < model.batch().size(); i++) {
            BatchSource features = before.get(model.initialValues().size() + i);
            if (features != null && model.batch().get(i).kind() == BatchInput.Kind.FEATURES) {
                return Synthetic.classesOf(features, input.shape(), input.limit());
            }
        }
        return Synthetic.drawn(input.shape(), new Distribution.Integers(0, input.limit()), input.name(), seed);
    }

    /** The text that is at hand wherever Drover is: its own documents, here or in a folder above. */
    private static Path ownDocs() {
        String root = System.getProperty("drover.root");
        Path here = Path.of(root != null ? root : "").toAbsolutePath();
        for (Path folder = here; folder != null; folder = folder.getParent()) {
            Path docs = folder.resolve("docs");
            if (Files.isDirectory(docs)) {
                return docs;
            }
        }
        throw new UserError(
                "The folder docs (Drover's own text, the default data) must be in " + here + " or above.",
                "Maybe give a text with --data.");
    }

    private static ModelInputs ofFile(TrainingStep step, long seed) {
        Map<Integer, InitialValue> rules = new TreeMap<>();
        Map<Integer, BatchSource> sources = new TreeMap<>();
        boolean[] stateByInput = step.stateByInput();
        for (int i = 0; i < step.inputs().size(); i++) {
            InputRole role = step.inputs().get(i);
            ArrayShape shape = step.inputShapes().get(i);
            Distribution distribution = madeUp(role.kind(), shape);
            if (!stateByInput[i]) {
                sources.put(i, Synthetic.drawn(shape, distribution, role.name(), seed));
            } else {
                rules.put(i, new InitialValue(role.name(), shape, distribution));
            }
        }
        return new ModelInputs(new InitialState(seed, rules), Map.of(), sources, "parameters and data are made up");
    }

    private static Distribution madeUp(InputRole.Kind kind, ArrayShape shape) {
        if (shape.dtype().isFloat()) {
            return switch (kind) {
                case PARAMETER -> new Distribution.Normal(0.05);
                case BATCH -> new Distribution.Normal(1);
                default -> new Distribution.Constant(0);
            };
        }
        return kind == InputRole.Kind.BATCH ? new Distribution.Integers(0, 2) : new Distribution.Constant(0);
    }

    /** Values from a safetensors file, one for each input. */
    static ModelInputs ofTensors(TrainingStep step, Path file) {
        Map<Integer, GivenValue> given = TensorFile.inputs(step, file);
        TensorFile.refuseMissing(file, "inputs", names(step, missing(step, given)));
        return NOTHING.with(step, given, "inputs are from " + file);
    }

    /**
     * Values from a safetensors file. Inputs that are not there get what {@link #of} gives them, unless outputs are given that depend on
     * them.
     *
     * @param expected a file of outputs that belong to the inputs; null if there is none
     */
    static ModelInputs ofSomeTensors(LoadedModel model, Path file, @Nullable Path expected, long seed) {
        TrainingStep step = model.flat();
        Map<Integer, GivenValue> given = TensorFile.inputs(step, file);
        List<Integer> missing = missing(step, given);
        if (expected != null) {
            List<List<Instruction>> users = step.graph().entry().users();
            List<Instruction> parameters = step.graph().entry().parameters();
            List<Integer> needed = missing.stream()
                    .filter(i -> !users.get(parameters.get(i).id()).isEmpty())
                    .toList();
            TensorFile.refuseMissing(
                    file, "inputs that the outputs in " + expected + " depend on", names(step, needed));
        }
        if (missing.isEmpty()) {
            return NOTHING.with(step, given, "inputs are from " + file);
        }
        return of(model, null, seed)
                .with(
                        step,
                        given,
                        "inputs are from " + file + "; " + missing.size() + " of "
                                + step.inputs().size()
                                + " are not there and get the values that they have without --inputs: "
                                + TensorFile.some(names(step, missing), NAMED_AT_MOST));
    }

    private static List<Integer> missing(TrainingStep step, Map<Integer, GivenValue> given) {
        return IntStream.range(0, step.inputs().size())
                .filter(i -> !given.containsKey(i))
                .boxed()
                .toList();
    }

    private static List<String> names(TrainingStep step, List<Integer> inputs) {
        return inputs.stream().map(i -> step.inputs().get(i).name()).toList();
    }

    /** These, but with the given values. */
    private ModelInputs with(TrainingStep step, Map<Integer, GivenValue> given, String newNote) {
        Map<Integer, InitialValue> rules = new TreeMap<>(initial.valueByInput());
        rules.keySet().removeAll(given.keySet());
        Map<Integer, GivenValue> newValues = new TreeMap<>(values);
        Map<Integer, BatchSource> sources = new TreeMap<>(data);
        boolean[] stateByInput = step.stateByInput();
        given.forEach((input, value) -> {
            if (stateByInput[input]) {
                newValues.put(input, value);
            } else {
                sources.put(input, BatchSource.fixed(value));
            }
        });
        return new ModelInputs(new InitialState(initial.seed(), rules), newValues, sources, newNote);
    }

    /** Of how many steps the data may be sent ahead: some, but large data fill the workers' memory. */
    int stepsAhead(TrainingStep step) {
        long bytes = data.keySet().stream()
                .mapToLong(input -> step.inputShapes().get(input).sizeBytes())
                .sum();
        return (int) Math.max(1, Math.min(STEPS_AHEAD, AHEAD_BYTES / Math.max(1, bytes)));
    }

    /** Every input of one step as a whole value. */
    List<Literal> whole(TrainingStep step, long number) {
        List<Literal> out = new ArrayList<>();
        for (int i = 0; i < step.inputs().size(); i++) {
            BatchSource source = data.get(i);
            GivenValue value = values.get(i);
            InitialValue rule = initial.valueByInput().get(i);
            if (source != null) {
                out.add(source.batch(number));
            } else if (value != null) {
                out.add(value.literal());
            } else if (rule != null) {
                out.add(InitialValues.fill(rule, initial.seed()));
            } else {
                throw new IllegalStateException("The input (" + i + ") must have a value.");
            }
        }
        return out;
    }

    /**
     * The inputs of the first step with every floating element moved by chance, by up to eight units of its last place; zeros, integers
     * and pred stay.
     */
    ModelInputs moved(TrainingStep step, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<Integer, GivenValue> out = new TreeMap<>();
        for (Literal literal : whole(step, 0)) {
            if (!literal.dtype().isFloat()) {
                out.put(out.size(), GivenValue.of(literal));
                continue;
            }
            double places = 8 * lastPlace(literal.dtype());
            double[] values = literal.doubles().clone();
            for (int i = 0; i < values.length; i++) {
                values[i] *= 1 + places * (2 * random.nextDouble() - 1);
            }
            out.put(out.size(), GivenValue.of(Literal.ofDoubles(literal.shape(), values)));
        }
        return NOTHING.with(step, out, note);
    }

    /** The distance of 1 from the next greater number. */
    static double lastPlace(DType dtype) {
        return switch (dtype) {
            case F64 -> 0x1p-52;
            case F32 -> 0x1p-23;
            case F16 -> 0x1p-10;
            case BF16 -> 0x1p-7;
            case F8E4M3FN -> 0x1p-3;
            case F8E5M2 -> 0x1p-2;
            default -> throw new IllegalArgumentException("The type (" + dtype + ") must be a floating one.");
        };
    }
}

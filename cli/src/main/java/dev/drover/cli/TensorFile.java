package dev.drover.cli;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.data.GivenValue;
import dev.drover.safetensors.Safetensors;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Values of a step's inputs or outputs from a safetensors file: by name where its tensors are named as the step's values are, else in
 * the order of the tensors' names.
 */
final class TensorFile {
    private static final Pattern NUMBERED = Pattern.compile("(\\D*)(\\d{1,9})");
    private static final int NAMED_AT_MOST = 3;
    private static final int MISSING_AT_MOST = 20;

    private final Path file;
    private final String what;
    private final Safetensors tensors;

    private TensorFile(Path file, String what) {
        this.file = file;
        this.what = what;
        this.tensors = Safetensors.open(file);
    }

    /** By number, values of inputs, of some at least where it is by name; of large ones not all is read. */
    static Map<Integer, GivenValue> inputs(TrainingStep step, Path file) {
        return new TensorFile(file, "inputs").values(inputNames(step), step.inputShapes());
    }

    /** Fails with {@link UserError}, naming those that are missing, if there are any. */
    static void refuseMissing(Path file, String what, List<String> missing) {
        if (!missing.isEmpty()) {
            throw new UserError(
                    "The tensors of file (" + file + ") must hold each of the model's " + what
                            + ", since some are named as these, but have no " + some(missing, MISSING_AT_MOST) + ".",
                    "Maybe see their names with drover inspect --inputs.");
        }
    }

    /** A value for each output. One that updates an input has its name, the loss is {@code loss}; a step with metrics has no names. */
    static List<Literal> outputs(TrainingStep step, Path file) {
        List<String> inputs = inputNames(step);
        List<String> names = new ArrayList<>();
        for (OutputRole role : step.outputs()) {
            switch (role.kind()) {
                case UPDATE -> names.add(inputs.get(role.input()));
                case LOSS -> names.add("loss");
                case METRIC -> {}
            }
        }
        Map<Integer, GivenValue> values = new TensorFile(file, "outputs").values(names, step.outputShapes());
        List<String> missing = new ArrayList<>();
        for (int i = 0; i < step.outputs().size(); i++) {
            if (!values.containsKey(i)) {
                missing.add(names.get(i));
            }
        }
        refuseMissing(file, "outputs", missing);
        return values.values().stream().map(GivenValue::literal).toList();
    }

    private static List<String> inputNames(TrainingStep step) {
        return step.inputs().stream().map(InputRole::name).toList();
    }

    private Map<Integer, GivenValue> values(List<String> names, List<ArrayShape> shapes) {
        Set<String> given = new TreeSet<>(tensors.tensors().keySet());
        List<String> order = new ArrayList<>(given);
        boolean named = names.size() == shapes.size()
                && new HashSet<>(names).size() == names.size()
                && names.stream().anyMatch(given::contains);
        if (named) {
            checkKnown(names, given);
            order = names;
        } else if (given.size() != shapes.size()) {
            throw new UserError(
                    "The tensors (" + given.size() + ") of file (" + file + ") must be the model's " + what + " ("
                            + shapes.size() + ").",
                    numbering(order, shapes.size()));
        }
        Map<Integer, GivenValue> out = new TreeMap<>();
        for (int i = 0; i < shapes.size(); i++) {
            if (!given.contains(order.get(i))) {
                continue;
            }
            GivenValue value = GivenValue.of(tensors, order.get(i));
            if (!value.shape().equals(shapes.get(i))) {
                throw new UserError("The shape (" + value.shape() + ") of tensor (" + order.get(i) + ") in " + file
                        + " must be " + shapes.get(i) + ".");
            }
            out.put(i, value);
        }
        return out;
    }

    private void checkKnown(List<String> names, Set<String> given) {
        Set<String> others = new TreeSet<>(given);
        names.forEach(others::remove);
        if (!others.isEmpty()) {
            throw new UserError(
                    "The tensors of file (" + file + ") must be the model's " + what
                            + ", since some are named as these, but hold " + some(others, NAMED_AT_MOST) + " too.",
                    "Maybe see their names with drover inspect --inputs.");
        }
    }

    /** What is wrong with names such as a0000, a0001, .., in order. */
    private static String numbering(List<String> order, int count) {
        Matcher first = NUMBERED.matcher(order.isEmpty() ? "" : order.get(0));
        if (!first.matches()) {
            return "Maybe name them as drover inspect --inputs does, or a0000, a0001, .. in the model's order.";
        }
        Set<String> missing = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            missing.add(first.group(1)
                    + String.format(Locale.ROOT, "%0" + first.group(2).length() + "d", i));
        }
        Set<String> others = new TreeSet<>(order);
        others.removeAll(missing);
        order.forEach(missing::remove);
        return others.isEmpty()
                ? "Maybe add " + some(missing, NAMED_AT_MOST) + "."
                : "Maybe leave out " + some(others, NAMED_AT_MOST) + ".";
    }

    /** The first names, and how many there are beside them. */
    static String some(Collection<String> names, int most) {
        List<String> shown = names.stream().limit(most).toList();
        int rest = names.size() - shown.size();
        return String.join(", ", shown) + (rest > 0 ? " and " + rest + " more" : "");
    }
}

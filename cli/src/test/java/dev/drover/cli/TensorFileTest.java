package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whether values come to the inputs that they are meant for. */
class TensorFileTest {
    /** Square weights, so that shapes cannot tell a mistake; sorted names are not in the order of the inputs. */
    private final TrainingStep step =
            LoadedModel.load("mlp:layers=2,hidden=4,features=4,batch=4").flat();

    @TempDir
    Path folder;

    /** A tensor for each name, its elements all the position of the input. */
    private Path file(List<String> names) {
        Map<String, Literal> tensors = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            tensors.put(
                    names.get(i),
                    filled(step.inputShapes().get(Math.min(i, step.inputs().size() - 1)), i));
        }
        Path file = folder.resolve("values.safetensors");
        Safetensors.write(file, tensors, Map.of());
        return file;
    }

    private static Literal filled(ArrayShape shape, int value) {
        int elements = Math.toIntExact(shape.elements());
        if (!shape.dtype().isFloat()) {
            long[] whole = new long[elements];
            Arrays.fill(whole, value);
            return Literal.ofLongs(shape, whole);
        }
        double[] values = new double[elements];
        Arrays.fill(values, value);
        return Literal.ofDoubles(shape, values);
    }

    private static double first(Literal value) {
        return value.dtype().isFloat() ? value.doubles()[0] : value.longs()[0];
    }

    private List<String> names() {
        return new ArrayList<>(step.inputs().stream().map(InputRole::name).toList());
    }

    private List<String> numbered(int count) {
        List<String> out = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            out.add(String.format(Locale.ROOT, "a%04d", i));
        }
        return out;
    }

    private void assertEachAtItsPlace(List<GivenValue> values) {
        for (int i = 0; i < values.size(); i++) {
            assertThat(first(values.get(i).literal()))
                    .as(step.inputs().get(i).name())
                    .isEqualTo(i);
        }
    }

    private void refused(List<String> names, String... parts) {
        assertThatThrownBy(() -> TensorFile.inputs(step, file(names)))
                .isInstanceOf(UserError.class)
                .satisfies(e -> assertThat(e.getMessage()).contains(parts));
    }

    @Test
    void namesOfTheModelCountNotTheirOrder() {
        assertThat(names()).isNotEqualTo(names().stream().sorted().toList());
        assertEachAtItsPlace(TensorFile.inputs(step, file(names())));
    }

    @Test
    void otherNamesCountByTheirOrder() {
        assertEachAtItsPlace(TensorFile.inputs(step, file(numbered(step.inputs().size()))));
    }

    @Test
    void outputsAreNamedAsTheInputsThatTheyUpdate() {
        Map<String, Literal> tensors = new LinkedHashMap<>();
        for (int i = 0; i < step.outputs().size(); i++) {
            OutputRole role = step.outputs().get(i);
            tensors.put(
                    role.kind() == OutputRole.Kind.LOSS ? "loss" : names().get(role.input()),
                    filled(step.outputShapes().get(i), i));
        }
        Path file = folder.resolve("outputs.safetensors");
        Safetensors.write(file, tensors, Map.of());
        List<Literal> values = TensorFile.outputs(step, file);
        for (int i = 0; i < values.size(); i++) {
            assertThat(first(values.get(i))).isEqualTo(i);
        }
    }

    @Test
    void whatIsMissingOrTooMuchIsNamed() {
        int count = step.inputs().size();
        List<String> few = names();
        few.remove("layer1.bias.m");
        refused(few, "each of the model's inputs", "but have no layer1.bias.m.");
        List<String> many = names();
        many.add("other");
        refused(many, "but hold other too.");
        List<String> gap = numbered(count);
        gap.remove(3);
        refused(gap, "The tensors (" + (count - 1) + ")", "(" + count + ")", "Maybe add a0003.");
        List<String> more = numbered(count + 1);
        refused(more, "Maybe leave out a00" + count + ".");
        refused(List.of("x", "y"), "Maybe name them as drover inspect --inputs does");
    }
}

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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whether values come to the inputs that they are meant for. */
class TensorFileTest {
    /** Square weights, so that shapes cannot tell a mistake; sorted names are not in the order of the inputs. */
    private final LoadedModel model = LoadedModel.load("mlp:layers=2,hidden=4,features=4,batch=4");

    private final TrainingStep step = model.flat();

    @TempDir
    Path folder;

    /** A tensor for each name, its elements all its position, of the shape of the input of this name or position. */
    private Path file(List<String> names) {
        Map<String, Literal> tensors = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            int named = names().indexOf(names.get(i));
            int input = named >= 0 ? named : Math.min(i, step.inputs().size() - 1);
            tensors.put(names.get(i), filled(step.inputShapes().get(input), i));
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

    private void assertEachAtItsPlace(Map<Integer, GivenValue> values) {
        assertThat(values).hasSize(step.inputs().size());
        values.forEach((i, value) -> assertThat(first(value.literal()))
                .as(step.inputs().get(i).name())
                .isEqualTo((double) i));
    }

    private void refused(List<String> names, String... parts) {
        assertThatThrownBy(() -> ModelInputs.ofTensors(step, file(names)))
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

    /** Whichever are left out: those are as without a file, the others as in it; training, which would go on with them, refuses. */
    @Test
    void inputsThatAreNotThereAreMadeUpToVerify() {
        List<Literal> madeUp = ModelInputs.of(model, null, 5).whole(step, 0);
        for (int from = 0; from < step.inputs().size(); from++) {
            List<String> all = names();
            Set<Integer> left = new TreeSet<>();
            for (int i = from; i < step.inputs().size(); i += 2 + from) {
                left.add(i);
            }
            Map<String, Literal> tensors = new LinkedHashMap<>();
            for (int i = 0; i < all.size(); i++) {
                if (!left.contains(i)) {
                    tensors.put(all.get(i), filled(step.inputShapes().get(i), i));
                }
            }
            Path file = folder.resolve("some.safetensors");
            Safetensors.write(file, tensors, Map.of());
            ModelInputs inputs = ModelInputs.ofSomeTensors(model, file, null, 5);
            List<Literal> values = inputs.whole(step, 0);
            for (int i = 0; i < values.size(); i++) {
                assertThat(values.get(i))
                        .as(all.get(i))
                        .isEqualTo(
                                left.contains(i)
                                        ? madeUp.get(i)
                                        : filled(step.inputShapes().get(i), i));
            }
            assertThat(inputs.note())
                    .contains("inputs are from " + file)
                    .contains(left.size() + " of " + all.size() + " are not there")
                    .contains(all.get(from));
            assertThatThrownBy(() -> ModelInputs.ofTensors(step, file))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining(all.get(from));
            // Outputs from elsewhere were computed with other values for these.
            assertThatThrownBy(() -> ModelInputs.ofSomeTensors(model, file, Path.of("out.safetensors"), 5))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining("inputs that the outputs in out.safetensors depend on")
                    .satisfies(e -> left.stream()
                            .limit(20)
                            .forEach(i -> assertThat(e.getMessage()).contains(all.get(i))));
        }
    }

    @Test
    void anInputThatNothingUsesMayBeMissingBesideGivenOutputs() throws IOException {
        Path file = Files.writeString(folder.resolve("unused.hlo"), """
                HloModule u, input_output_alias={ {0}: (0, {}, may-alias) }

                ENTRY e {
                  w = f32[8] parameter(0)
                  x = f32[8] parameter(1)
                  unused = f32[8] parameter(2)
                  n = f32[8] subtract(w, x)
                  ROOT t = (f32[8]) tuple(n)
                }
                """);
        LoadedModel unused = LoadedModel.load(file.toString());
        ArrayShape shape = unused.flat().inputShapes().get(0);
        Path given = folder.resolve("given.safetensors");
        Safetensors.write(given, Map.of("w", filled(shape, 3), "x", filled(shape, 4)), Map.of());
        ModelInputs inputs = ModelInputs.ofSomeTensors(unused, given, Path.of("out.safetensors"), 1);
        assertThat(inputs.note()).contains("1 of 3 are not there", ": unused");
        Safetensors.write(given, Map.of("w", filled(shape, 3), "y", filled(shape, 4)), Map.of());
        assertThatThrownBy(() -> ModelInputs.ofSomeTensors(unused, given, null, 1))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("but hold y too.");
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

package dev.drover.importers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.InputRole.Kind;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Roles are found without names; here names tell whether they are right. */
class RolesTest {

    static Stream<String> models() {
        return TinyModels.NAMES.stream();
    }

    @ParameterizedTest
    @MethodSource("models")
    void rolesOfTinyModels(String model) throws IOException {
        TrainingStep step = ModelFile.load(TinyModels.folder(model).resolve("step.hlo"));
        JsonNode info = TinyModels.info(model);
        int parameters = info.get("param_tensors").asInt();
        int batch = info.get("batch_arg_start").asInt();
        assertThat(step.inputs()).hasSize(info.get("args").asInt());
        for (int i = 0; i < step.inputs().size(); i++) {
            boolean isScalar = step.inputShapes().get(i).rank() == 0;
            Kind expected = i < parameters
                    ? Kind.PARAMETER
                    : i >= batch ? Kind.BATCH : isScalar ? Kind.COUNTER : Kind.OPTIMIZER_STATE;
            assertThat(step.inputs().get(i).kind())
                    .as("%s %s", i, info.get("arg_names").get(i))
                    .isEqualTo(expected);
        }
        for (int i = 0; i < batch; i++) {
            assertThat(step.outputs().get(i)).isEqualTo(OutputRole.update(i));
        }
        assertThat(step.loss()).isEqualTo(batch);
        assertThat(step.outputs()).hasSize(batch + 1);
    }

    /** Outputs of these steps are the state in the order of the inputs, then metrics. */
    @ParameterizedTest
    @CsvSource({
        "llama3_8b_train, 39, 41",
        "mixtral_8x7b_train, 42, 44",
        "gpt_j_6b_train, 856, 856",
        "resnet50_train, 306, 306",
        "vit_train, 598, 598",
        "nv_maxtext_1n1g_jit_train_step_before_optimization, 33, 34"
    })
    void rolesOfRealSteps(String model, int state, int loss) {
        Path file = TinyModels.CORPUS.resolve("real").resolve(model + ".hlo.gz");
        assumeTrue(Files.exists(file), "The model (" + file + ") is not here.");
        TrainingStep step = ModelFile.load(file);
        for (int i = 0; i < step.inputs().size(); i++) {
            InputRole input = step.inputs().get(i);
            assertThat(input.kind()).as("%s", input).isEqualTo(expected(input.name()));
        }
        for (int i = 0; i < step.outputs().size(); i++) {
            assertThat(step.outputs().get(i))
                    .as("output %d", i)
                    .isEqualTo(i < state ? OutputRole.update(i) : i == loss ? OutputRole.LOSS : OutputRole.METRIC);
        }
    }

    private static Kind expected(String name) {
        if (name.matches("(state\\.)?params\\[.*")) {
            return Kind.PARAMETER;
        }
        if (name.matches("state\\.step|.*opt_state\\[\\d+]\\.count")) {
            return Kind.COUNTER;
        }
        return name.contains("opt_state") ? Kind.OPTIMIZER_STATE : Kind.BATCH;
    }
}

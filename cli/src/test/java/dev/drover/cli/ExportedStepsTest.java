package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Steps as users export them, on real workers, against what JAX computes: a loss weighted by a mask (the same batch is needed whole and by
 * micro-batches), an update under a condition (tuples between optimizer programs), random bits (much work on little data, numbered over
 * all micro-batches), a gradient that is 0 but for rounding. {@code resources/exported/make.py} makes them.
 */
class ExportedStepsTest {
    @ParameterizedTest
    @ValueSource(strings = {"masked", "guarded", "dropout", "keybias"})
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void equalsItsParts(String name) throws IOException {
        Path folder = Path.of("src", "test", "resources", "exported", name);
        CommandRun run = CommandRun.of(
                "verify",
                folder.resolve("step.hlo").toString(),
                "--inputs",
                folder.resolve("in.safetensors").toString(),
                "--expected",
                folder.resolve("out.safetensors").toString(),
                "--workers",
                "2",
                "--random",
                "3",
                "--json",
                "--run-folder",
                Path.of("target", "runs", "exported-" + name).toString());
        assertThat(run.exitCode()).as(run.err()).isZero();
        JsonNode result = new ObjectMapper().readTree(run.out());
        assertThat(result.get("equal").asBoolean()).isTrue();
        assertThat(result.get("plans").asInt()).isEqualTo(4);
        assertThat(result.get("worstRelativeError").asDouble()).isLessThan(5e-4);
    }
}

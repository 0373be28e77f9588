package dev.drover.importers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.ir.eval.Literal;
import dev.drover.safetensors.Safetensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Assumptions;

/** The training steps that JAX ran for us: five are among the resources, all are in the corpus. */
final class TinyModels {
    static final Path CORPUS = Path.of("..", "..", "shared", "corpus");

    static final List<String> NAMES = List.of(
            "bert_tiny",
            "dlrm_tiny",
            "dnabert_tiny_long",
            "gpt_tiny_scan",
            "gpt_tiny_tied",
            "gpt_tiny_untied",
            "mlp8_tiny",
            "moe_tiny",
            "resnet_tiny",
            "unet_tiny",
            "vgg_tiny");

    private TinyModels() {}

    /** A model's folder; the test is skipped where there is none. */
    static Path folder(String name) {
        Path resource = Path.of("src", "test", "resources", "models", name);
        Path corpus = CORPUS.resolve("jax").resolve(name);
        Path folder = Files.isDirectory(resource) ? resource : corpus;
        Assumptions.assumeTrue(Files.isDirectory(folder), "The model (" + corpus + ") is not here.");
        return folder;
    }

    static JsonNode info(String name) throws IOException {
        return new ObjectMapper().readTree(folder(name).resolve("info.json").toFile());
    }

    /** Tensors {@code a0000, a0001, ..} or {@code o0000, ..}. */
    static List<Literal> tensors(Path file, char prefix) {
        Safetensors tensors = Safetensors.open(file);
        List<Literal> out = new ArrayList<>();
        for (int i = 0; tensors.tensors().containsKey(key(prefix, i)); i++) {
            out.add(tensors.literal(key(prefix, i)));
        }
        return out;
    }

    private static String key(char prefix, int position) {
        return String.format(Locale.ROOT, "%c%04d", prefix, position);
    }
}

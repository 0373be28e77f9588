package dev.drover.plan.text;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.plan.RecordText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/** Plans as JSON: the same plan gives the same text, and the text gives the plan back. Unknown keys are errors. */
public final class PlanText {
    private PlanText() {}

    private static ObjectMapper mapper() {
        return new ObjectMapper()
                .setVisibility(PropertyAccessor.GETTER, JsonAutoDetect.Visibility.NONE)
                .setVisibility(PropertyAccessor.IS_GETTER, JsonAutoDetect.Visibility.NONE)
                .setVisibility(PropertyAccessor.FIELD, JsonAutoDetect.Visibility.ANY)
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(com.fasterxml.jackson.core.JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
    }

    /** The plan's text, ended by a newline. */
    public static String print(Plan plan) {
        DefaultPrettyPrinter printer = new DefaultPrettyPrinter();
        printer.indentObjectsWith(new DefaultIndenter("  ", "\n"));
        try {
            return mapper().writer(printer).writeValueAsString(plan) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    public static Plan read(Path file) {
        try {
            return parse(Files.readString(file, StandardCharsets.UTF_8), file.toString());
        } catch (IOException e) {
            throw new UserError("The plan file (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }

    /** Whether a file is a plan, of another version maybe. */
    public static boolean isPlan(Path file) {
        try {
            JsonNode tree = mapper().readTree(Files.readString(file, StandardCharsets.UTF_8));
            return tree.path("version").isInt() && tree.has("microBatches");
        } catch (IOException e) {
            return false;
        }
    }

    /** Reads a plan; {@code source} names it in messages. */
    public static Plan parse(String json, String source) {
        RecordText read = RecordText.parse(mapper(), json, "plan", source);
        checkVersion(read.tree(), source);
        return read.to(Plan.class, Set.of("predicted", "certificate"));
    }

    /** First of all, since other versions have other keys. */
    private static void checkVersion(JsonNode tree, String source) {
        JsonNode version = tree.path("version");
        if (version.isInt() && version.intValue() != Plan.VERSION) {
            throw new UserError(
                    "The version (" + version + ") of plan (" + source + ") must be " + Plan.VERSION + ".",
                    "Maybe plan again with this version of drover.");
        }
    }
}

package dev.drover.plan.cluster;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.ir.FileReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what another calibration measured in a file, so that plans for {@code local} are the same from run to run. Delete the file
 * to measure again; a file that cannot be read, or lacks something, is measured anew. Where the file cannot be written, what was
 * measured serves this once, which is told.
 *
 * @param lines take what there is to tell
 */
public record CachedCalibration(Path file, Calibration measuring, Consumer<String> lines) implements Calibration {
    @Override
    public Figures measure() {
        Figures kept = kept();
        return kept != null ? kept : store(mapper(), measuring.measure());
    }

    /** What the file holds; null if there is none, it cannot be read, or what it holds is not complete. */
    public @Nullable Figures kept() {
        try {
            Figures kept = Files.exists(file) ? mapper().readValue(file.toFile(), Figures.class) : null;
            return kept != null && measuring.isComplete(kept) ? kept : null;
        } catch (IOException e) {
            return null;
        }
    }

    private static ObjectMapper mapper() {
        return new ObjectMapper().enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES);
    }

    private Figures store(ObjectMapper mapper, Figures figures) {
        try {
            Path parent = file.toAbsolutePath().getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Path temporary = Files.createTempFile(parent, "calibration", ".json");
            mapper.writerWithDefaultPrettyPrinter().writeValue(temporary.toFile(), figures);
            Files.move(temporary, file, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            lines.accept("what was measured of this machine cannot be kept in " + file + ", since " + FileReason.of(e)
                    + "; the next run measures again");
        }
        return figures;
    }
}

package dev.drover.plan.cluster;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Keeps what another calibration measured in a file, so that plans for {@code local} are the same from run to run. Delete the file
 * to measure again; a file that cannot be read, or lacks something, is measured anew.
 */
public record CachedCalibration(Path file, Calibration measuring) implements Calibration {
    @Override
    public Figures measure() {
        ObjectMapper mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES);
        try {
            if (Files.exists(file)) {
                Figures cached = mapper.readValue(file.toFile(), Figures.class);
                if (cached != null && measuring.isComplete(cached)) {
                    return cached;
                }
            }
        } catch (IOException e) {
            return store(mapper, measuring.measure());
        }
        return store(mapper, measuring.measure());
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
            return figures;
        } catch (IOException e) {
            throw new UncheckedIOException("The calibration must be written to " + file + ".", e);
        }
    }
}

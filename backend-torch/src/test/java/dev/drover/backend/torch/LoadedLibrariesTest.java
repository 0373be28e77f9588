package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A list of libraries that does not hold is no list: then JavaCPP looks for them, as in the first process. */
class LoadedLibrariesTest {
    @TempDir
    Path cache;

    @Test
    void withoutAListNothingIsLoaded() throws IOException {
        assertThat(LoadedLibraries.of(cache.resolve("new")).load()).isFalse();
        assertThat(cache.resolve("new")).isDirectory();
    }

    @Test
    void aListOfWhatIsNotThereIsRefused() throws IOException {
        String before = System.getProperty("org.bytedeco.javacpp.loadlibraries");
        LoadedLibraries libraries = LoadedLibraries.of(cache);
        libraries.write(List.of(cache.resolve("libgone.so").toString()));
        assertThat(libraries.load()).isFalse();
        assertThat(System.getProperty("org.bytedeco.javacpp.loadlibraries")).isNull();
        if (before != null) {
            System.setProperty("org.bytedeco.javacpp.loadlibraries", before);
        }
    }

    @Test
    void onlyLibrariesOfTheCacheAreKept() throws IOException {
        LoadedLibraries.of(cache).write(List.of("/usr/lib/libsystem.so", cache + "/b.so", cache + "/a.so"));
        try (Stream<Path> files = Files.list(cache)) {
            assertThat(Files.readAllLines(files.findFirst().orElseThrow()))
                    .containsExactly(cache + "/a.so", cache + "/b.so");
        }
    }
}

package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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
    void aListThatDoesNotHoldIsDeletedAndNotWrittenByThisProcess() throws IOException {
        String before = System.getProperty("org.bytedeco.javacpp.loadlibraries");
        LoadedLibraries libraries = LoadedLibraries.of(cache);
        libraries.write(files("jnijavacpp", "jniopenblas_nolapack", "jnitorch", "jnidnnl"));
        assertThat(lists()).hasSize(1);
        assertThat(libraries.load()).isFalse();
        assertThat(System.getProperty("org.bytedeco.javacpp.loadlibraries")).isNull();
        assertThat(lists()).isEmpty();
        libraries.write(files("jnijavacpp", "jniopenblas_nolapack", "jnitorch", "jnidnnl"));
        assertThat(lists()).isEmpty();
        if (before != null) {
            System.setProperty("org.bytedeco.javacpp.loadlibraries", before);
        }
    }

    @Test
    void aListWithoutTheNativesOfAClassIsNotWritten() throws IOException {
        LoadedLibraries.of(cache).write(files("jniopenblas_nolapack", "jnitorch", "jnidnnl"));
        assertThat(lists()).isEmpty();
    }

    /** One that comes with the system is not kept, so the list would never be used. */
    @Test
    void aListThatIsNotCompleteInTheCacheIsNotWritten() throws IOException {
        List<String> libraries = new ArrayList<>(files("jniopenblas_nolapack", "jnitorch", "jnidnnl"));
        libraries.add("/usr/lib/libjnijavacpp.so");
        LoadedLibraries.of(cache).write(libraries);
        assertThat(lists()).isEmpty();
    }

    @Test
    void aListWithoutTheNativesOfAClassIsNotUsed() throws IOException {
        LoadedLibraries.of(cache).write(files("jnijavacpp", "jniopenblas_nolapack", "jnitorch", "jnidnnl"));
        Files.write(lists().get(0), files("jnitorch", "jnidnnl"));
        LoadedLibraries libraries = LoadedLibraries.of(cache);
        assertThat(libraries.load()).isFalse();
        libraries.write(files("jnijavacpp", "jniopenblas_nolapack", "jnitorch", "jnidnnl"));
        assertThat(Files.readAllLines(lists().get(0))).hasSize(4);
    }

    @Test
    void onlyLibrariesOfTheCacheAreKept() throws IOException {
        List<String> all = files("jnitorch", "jnijavacpp", "jniopenblas_nolapack", "jnidnnl");
        List<String> more = new ArrayList<>(all);
        more.add("/usr/lib/libsystem.so");
        LoadedLibraries.of(cache).write(more);
        assertThat(Files.readAllLines(lists().get(0))).containsExactlyInAnyOrderElementsOf(all);
    }

    private List<String> files(String... names) {
        return Stream.of(names)
                .map(name -> cache.resolve("lib" + name + ".so").toString())
                .toList();
    }

    private List<Path> lists() throws IOException {
        try (Stream<Path> files = Files.list(cache)) {
            return files.toList();
        }
    }
}

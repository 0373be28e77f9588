package dev.drover.backend.torch;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;

/** The native libraries that an earlier process with the same jars has loaded, as a list of files in the folder where they were unpacked. */
final class LoadedLibraries {
    /** JavaCPP does not look for libraries while this is "false". */
    private static final String LOOKS = "org.bytedeco.javacpp.loadlibraries";

    /** Natives of the classes that are used; a list without one of them is no list. */
    private static final List<String> NEEDED = List.of("jnijavacpp", "jniopenblas_nolapack", "jnitorch", "jnidnnl");

    private final Path cache;
    private final Path list;
    private boolean tried;

    private LoadedLibraries(Path cache, Path list) {
        this.cache = cache;
        this.list = list;
    }

    /** @param cache where JavaCPP unpacks to; made if it is missing */
    static LoadedLibraries of(Path cache) throws IOException {
        Files.createDirectories(cache);
        return new LoadedLibraries(cache, cache.resolve("drover-" + jars() + ".list"));
    }

    Path lockFile() {
        return cache.resolve("drover.lock");
    }

    /** A name for the jars of the class path; natives are unpacked anew when one changes. */
    private static String jars() throws IOException {
        StringBuilder jars = new StringBuilder();
        for (String entry : System.getProperty("java.class.path", "").split(File.pathSeparator)) {
            Path jar = Path.of(entry);
            if (entry.endsWith(".jar") && Files.exists(jar)) {
                jars.append(entry)
                        .append(' ')
                        .append(Files.size(jar))
                        .append(' ')
                        .append(Files.getLastModifiedTime(jar))
                        .append('\n');
            }
        }
        return UUID.nameUUIDFromBytes(jars.toString().getBytes(StandardCharsets.UTF_8))
                .toString();
    }

    /** Loads what the list names; false where there is none, or it does not hold any more. */
    boolean load() throws IOException {
        if (!Files.isReadable(list)) {
            return false;
        }
        List<String> left = new ArrayList<>(Files.readAllLines(list));
        if (!isComplete(left)) {
            return false;
        }
        // From before the first class of JavaCPP looks for its library.
        System.setProperty(LOOKS, "false");
        // What one needs of the others its own search path finds, or they come first.
        int before = left.size() + 1;
        while (!left.isEmpty() && left.size() < before) {
            before = left.size();
            loadSome(left);
        }
        if (!left.isEmpty()) {
            // JavaCPP does not know what this process has loaded by now, so the next one writes a list.
            tried = true;
            Files.deleteIfExists(list);
            System.clearProperty(LOOKS);
        }
        return left.isEmpty();
    }

    private static void loadSome(List<String> left) {
        for (Iterator<String> each = left.iterator(); each.hasNext(); ) {
            try {
                System.load(each.next());
                each.remove();
            } catch (UnsatisfiedLinkError missing) {
                // In the next round, when others are there.
            }
        }
    }

    private static boolean isComplete(Collection<String> libraries) {
        return NEEDED.stream().allMatch(name -> libraries.stream().anyMatch(file -> file.contains(name)));
    }

    /** Keeps those of the cache; others come with the system. */
    void write(Collection<String> libraries) throws IOException {
        List<String> lines = libraries.stream()
                .filter(library -> Path.of(library).startsWith(cache))
                .sorted()
                .toList();
        if (tried || !isComplete(lines)) {
            return;
        }
        Path next = Files.createTempFile(cache, "drover-", ".next");
        Files.write(next, lines);
        Files.move(next, list, StandardCopyOption.ATOMIC_MOVE);
    }
}

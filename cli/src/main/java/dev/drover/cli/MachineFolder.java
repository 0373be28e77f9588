package dev.drover.cli;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The folder for what was measured of this machine: in the user's home, or, where that cannot be written, in the folder for temporary
 * files, which is also what JavaCPP does with the native libraries that it unpacks.
 */
final class MachineFolder {
    private MachineFolder() {}

    /** Where to look, the best first. */
    static List<Path> all() {
        return List.of(
                Path.of(System.getProperty("user.home"), ".drover"),
                Path.of(System.getProperty("java.io.tmpdir"), ".drover-" + System.getProperty("user.name")));
    }

    /**
     * The first that can be written, or in which all is kept already. Fails with {@link UserError} if there is none.
     *
     * @param isKept whether a folder need not be written
     * @param lines take what there is to tell
     */
    static Path choose(List<Path> folders, Predicate<Path> isKept, Consumer<String> lines) {
        String first = "";
        for (Path folder : folders) {
            String problem = problem(folder);
            if (problem == null || isKept.test(folder)) {
                if (!first.isEmpty()) {
                    lines.accept("the folder (" + folders.get(0) + ") cannot be written, since " + first
                            + "; what is measured of this machine is kept in " + folder);
                }
                return folder;
            }
            first = first.isEmpty() ? problem : first;
        }
        throw new UserError(
                "The folder (" + folders.get(0) + ") for what is measured of this machine must be writable, but "
                        + first + ", and no other can be written: " + folders.subList(1, folders.size()) + ".",
                "Maybe plan for a cluster whose figures are known, as in --cluster m8:1.");
    }

    /** Why a folder cannot be made or written; null if it can. */
    private static @Nullable String problem(Path folder) {
        if (!folder.isAbsolute()) {
            // What Java says of a user whom the system does not know.
            return "this user has no home";
        }
        try {
            Files.createDirectories(folder);
            Files.delete(Files.createTempFile(folder, "try", ""));
            return null;
        } catch (IOException e) {
            return FileReason.of(e);
        }
    }
}

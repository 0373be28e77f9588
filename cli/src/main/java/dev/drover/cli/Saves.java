package dev.drover.cli;

import dev.drover.ir.UserError;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The checkpoints of a training. One that cannot be saved, such as on a full disk, does not end the training, which is worth more: it is
 * told, the ones before it are kept, and the next one is tried when it is due.
 */
final class Saves {
    /** Saves the state of a step and returns the folder; fails with {@link UserError} if it cannot be written. */
    @FunctionalInterface
    interface Saver {
        Path save(Path root, long step);
    }

    private final Path root;
    private final Consumer<String> lines;
    private final Saver saver;
    private volatile @Nullable Path newest;
    private long newestStep;
    /** Why the last one failed; null if it did not. */
    private @Nullable String problem;

    private long problemStep;

    /** @param lines take what there is to tell */
    Saves(Path root, Consumer<String> lines, Saver saver) {
        this.root = root;
        this.lines = lines;
        this.saver = saver;
    }

    /**
     * Tries to save the state of a step. Failures that follow each other are told once.
     *
     * @param next step of the next attempt; 0 if this is the last
     */
    void save(long step, long next) {
        try {
            Path folder = saver.save(root, step);
            newest = folder;
            newestStep = step;
            problem = null;
            lines.accept("saved to " + folder);
        } catch (UserError e) {
            if (problem == null && next > 0) {
                lines.accept(String.valueOf(e.getMessage()));
                lines.accept("training goes on, and saving is tried again after step " + next);
            }
            problem = String.valueOf(e.getMessage());
            problemStep = step;
        }
    }

    /** Whether the last attempt failed. */
    boolean isLost() {
        return problem != null;
    }

    /** The newest checkpoint that was saved; null if there is none. */
    @Nullable
    Path newest() {
        return newest;
    }

    /** At the end: what is lost, if anything is. */
    void tellLost() {
        if (problem != null) {
            lines.accept(problem);
            lines.accept("the last state (step " + problemStep + ") is NOT saved; "
                    + (newest == null
                            ? "this training has saved none"
                            : "the newest that is, of step " + newestStep + ", is in " + newest));
        }
    }
}

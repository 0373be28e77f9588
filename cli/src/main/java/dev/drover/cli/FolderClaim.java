package dev.drover.cli;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A folder that one process writes to, so that two of them do not mix their files there. The system's lock on a file in the folder is
 * the claim, which therefore ends with the process, however that ends; the file tells who has it. A file system without locks grants all.
 */
final class FolderClaim implements AutoCloseable {
    /** Of the claim; no part of what the folder is for. */
    static final String FILE = ".in-use";

    private static final int MOST_ATTEMPTS = 100;

    private final Path file;
    private final FileChannel channel;
    /** Folders that were made for it, the innermost first. */
    private final Deque<Path> made;

    private FolderClaim(Path file, FileChannel channel, Deque<Path> made) {
        this.file = file;
        this.channel = channel;
        this.made = made;
    }

    /**
     * Claims a folder, which is made if it is not there. Fails with {@link UserError} if another process has it, or it cannot be made.
     *
     * @param name what it is for, in messages
     */
    static FolderClaim of(String name, Path folder) {
        Deque<Path> made = new ArrayDeque<>();
        for (Path at = folder.toAbsolutePath().normalize(); at != null && !Files.exists(at); at = at.getParent()) {
            made.addLast(at);
        }
        try {
            for (int attempt = 1; ; attempt++) {
                try {
                    Files.createDirectories(folder);
                    FileChannel channel = lock(name, folder);
                    if (channel != null) {
                        return new FolderClaim(folder.resolve(FILE), channel, made);
                    }
                } catch (NoSuchFileException | FileAlreadyExistsException e) {
                    // Who ended just now has taken the folder away.
                    if (attempt == MOST_ATTEMPTS) {
                        throw e;
                    }
                }
            }
        } catch (IOException e) {
            throw new UserError(
                    "The " + name + " (" + folder + ") must be one that can be made and written, but "
                            + FileReason.of(e) + ".",
                    "Maybe take another path.");
        }
    }

    /**
     * The file of a claim, open and locked; null if it is not the one in the folder any more. It is opened once: closing any other opening of
     * it would end the lock.
     */
    private static @Nullable FileChannel lock(String name, Path folder) throws IOException {
        Path file = folder.resolve(FILE);
        if (!Files.exists(file)) {
            Files.createFile(file);
        }
        // Before it is opened: the one in its place afterwards may be another one already.
        Object opened = key(file);
        FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
        boolean kept = false;
        try {
            if (!ProcessLock.take(channel)) {
                String owner = Files.readString(file).strip();
                throw new UserError(
                        "The " + name + " (" + folder + ") must not be in use, but another run writes to it"
                                + (owner.isEmpty() ? "." : " (" + owner + ")."),
                        "Maybe wait until that has ended, or take another folder.");
            }
            if (!Objects.equals(key(file), opened)) {
                return null;
            }
            ProcessLock.sign(channel);
            kept = true;
            return channel;
        } finally {
            if (!kept) {
                channel.close();
            }
        }
    }

    /** What tells a file from others in its place; null where the system has no such thing. */
    private static @Nullable Object key(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    /** Gives the folder back; one that was made for it and holds nothing goes away. */
    @Override
    public void close() {
        try (channel) {
            Files.deleteIfExists(file);
            for (Path folder : made) {
                Files.deleteIfExists(folder);
            }
        } catch (DirectoryNotEmptyException e) {
            // It holds what it was made for.
            return;
        } catch (IOException e) {
            throw new UserError(
                    "The folder (" + file.getParent() + ") must be writable, but " + FileReason.of(e) + ".", e);
        }
    }
}

package dev.drover.cli;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;

/** The system's lock on an open file, which ends with its process, however that ends; the file tells who has it. */
final class ProcessLock {
    private ProcessLock() {}

    /** Takes the lock; false if another process, or another opening in this one, has it. A file system without locks grants all. */
    static boolean take(FileChannel channel) {
        try {
            FileLock lock = channel.tryLock();
            return lock != null;
        } catch (OverlappingFileLockException e) {
            return false;
        } catch (IOException e) {
            // No locks on this file system.
            return true;
        }
    }

    /** Writes into the file who has it. */
    static void sign(FileChannel channel) throws IOException {
        String owner = "process " + ProcessHandle.current().pid();
        channel.truncate(0);
        channel.write(ByteBuffer.wrap(owner.getBytes(StandardCharsets.UTF_8)), 0);
    }
}

package dev.drover.runtime.checkpoint;

import dev.drover.ir.UserError;
import dev.drover.plan.sim.MemoryUse;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;

/** Free space on disks. */
public final class Room {
    private Room() {}

    /**
     * Fails with {@link UserError} where so many bytes cannot be written in a folder, which need not be there yet, so that a disk is not
     * filled for nothing. What the system may keep for its own use counts as free, and a disk of unknown size as large.
     */
    public static void check(Path folder, long sizeBytes) {
        try {
            FileStore disk = disk(folder);
            long free = disk.getUnallocatedSpace();
            if (disk.getTotalSpace() > 0 && free < sizeBytes) {
                throw new UserError("The free space (" + MemoryUse.text(free) + ") on the disk of (" + folder
                        + ") must be at least " + MemoryUse.text(sizeBytes) + ".");
            }
        } catch (IOException e) {
            // Not known; who writes will see.
            return;
        }
    }

    /** A sentence that says how much is missing in a folder, after a space; empty if enough is free, or it is not known. */
    public static String missing(Path folder, long sizeBytes) {
        try {
            FileStore disk = disk(folder);
            long free = disk.getUsableSpace();
            return disk.getTotalSpace() == 0 || free >= sizeBytes
                    ? ""
                    : " It takes " + MemoryUse.text(sizeBytes) + ", and " + MemoryUse.text(free) + " are free there: "
                            + MemoryUse.text(sizeBytes - free) + " are missing.";
        } catch (IOException e) {
            return "";
        }
    }

    private static FileStore disk(Path folder) throws IOException {
        Path at = folder.toAbsolutePath();
        while (!Files.exists(at) && at.getParent() != null) {
            at = at.getParent();
        }
        return Files.getFileStore(at);
    }
}

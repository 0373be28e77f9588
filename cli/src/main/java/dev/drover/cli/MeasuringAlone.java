package dev.drover.cli;

import dev.drover.plan.cluster.CachedCalibration;
import dev.drover.plan.cluster.Calibration;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A calibration that no other process of this user does at the same time, for whatever number of workers: each would measure the other. Who
 * comes second waits, and takes what was found meanwhile. The system's lock on a file is the claim, which ends with its process, however
 * that ends; the file stays. A file system without locks grants all.
 *
 * @param lock the file
 * @param lines take what there is to tell
 */
record MeasuringAlone(Path lock, CachedCalibration cached, Consumer<String> lines) implements Calibration {
    private static final long POLL_MILLIS = 100;

    @Override
    public Figures measure() {
        Figures kept = cached.kept();
        if (kept != null) {
            return kept;
        }
        try (FileChannel channel = open()) {
            if (channel != null) {
                await(channel);
            }
            // Another one may have found them since.
            return cached.measure();
        } catch (IOException e) {
            throw new IllegalStateException("The file (" + lock + ") must be one that can be closed.", e);
        }
    }

    /** Null where there can be no lock. */
    private @Nullable FileChannel open() {
        try {
            Files.createDirectories(lock.toAbsolutePath().getParent());
            return FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        } catch (IOException e) {
            return null;
        }
    }

    private void await(FileChannel channel) {
        boolean told = false;
        while (!ProcessLock.take(channel)) {
            if (!told) {
                told = true;
                lines.accept("another drover" + owner(channel)
                        + " is measuring this machine; waiting for what it finds (at most a minute or so)");
            }
            try {
                Thread.sleep(POLL_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("Interrupted while waiting for " + lock, e);
            }
        }
        try {
            ProcessLock.sign(channel);
        } catch (IOException e) {
            // It only tells others who waits for whom.
            return;
        }
    }

    /** By this channel: closing another one would end a lock of this process. */
    private static String owner(FileChannel channel) {
        try {
            ByteBuffer bytes = ByteBuffer.allocate(64);
            int read = channel.read(bytes, 0);
            return read <= 0 ? "" : " (" + new String(bytes.array(), 0, read, StandardCharsets.UTF_8) + ")";
        } catch (IOException e) {
            return "";
        }
    }
}

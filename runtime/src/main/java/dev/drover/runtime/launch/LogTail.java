package dev.drover.runtime.launch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** Reads the end of a log file that is perhaps still being written. */
final class LogTail {

    private static final int MAX_BYTES = 16 * 1024;

    private LogTail() {}

    static List<String> read(Path file, int lines) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long start = Math.max(0, channel.size() - MAX_BYTES);
            ByteBuffer bytes = ByteBuffer.allocate(MAX_BYTES);
            while (bytes.hasRemaining() && channel.read(bytes, start + bytes.position()) > 0) {}
            String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
            List<String> all = text.lines().toList();
            return all.subList(Math.max(start > 0 ? 1 : 0, all.size() - lines), all.size());
        } catch (IOException | IllegalArgumentException e) {
            return List.of();
        }
    }
}

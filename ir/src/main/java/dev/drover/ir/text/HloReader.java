package dev.drover.ir.text;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.Graph;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;

/**
 * Reads HLO text. Layouts are not part of a {@link Graph}: they are dropped, but a {@code bitcast} between layouts that are not
 * row-major becomes the transposes and the reshape that it means. {@code entry_computation_layout} is dropped for the same
 * reason, {@code input_output_alias} becomes {@link Graph#aliases}, the tables of source positions stay, verbatim, among {@link
 * Graph#attributes}. Attributes that an op does not read become annotations.
 */
public final class HloReader {
    /** What one array holds. */
    private static final int MOST_BYTES = Integer.MAX_VALUE - 64;

    private static final byte[] MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

    private HloReader() {}

    /** Reads a file; one that starts as gzip does is unpacked. */
    public static Graph read(Path file) {
        return read(file.toString(), bytes(file));
    }

    /** Reads text that came from the named place. */
    public static Graph read(String name, CharSequence text) {
        return read(name, text.toString().getBytes(StandardCharsets.UTF_8));
    }

    /** Reads UTF-8 text, with or without a byte order mark, that came from the named place. */
    public static Graph read(String name, byte[] text) {
        boolean marked = text.length >= MARK.length && Arrays.equals(text, 0, MARK.length, MARK, 0, MARK.length);
        HloScanner scanner = new HloScanner(name, marked ? Arrays.copyOfRange(text, MARK.length, text.length) : text);
        return new GraphAssembler(scanner, new HloParser(scanner).parse()).assemble();
    }

    private static UserError tooLarge(Path file) {
        return new UserError(
                "The text of file (" + file + ") must be at most " + MOST_BYTES + " bytes long, unpacked.");
    }

    /** A file's content, unpacked if it is gzip. */
    public static byte[] bytes(Path file) {
        try {
            if (Files.size(file) > MOST_BYTES) {
                throw tooLarge(file);
            }
            byte[] content = Files.readAllBytes(file);
            if (content.length < 2 || (content[0] & 0xff) != 0x1f || (content[1] & 0xff) != 0x8b) {
                return content;
            }
            try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(content), 1 << 16)) {
                byte[] unpacked = in.readNBytes(MOST_BYTES);
                if (in.read() >= 0) {
                    throw tooLarge(file);
                }
                return unpacked;
            }
        } catch (NoSuchFileException e) {
            throw new UserError("The file (" + file + ") must exist.", e);
        } catch (IOException e) {
            throw new UserError("The file (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }
}

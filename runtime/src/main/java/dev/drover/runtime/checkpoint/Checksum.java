package dev.drover.runtime.checkpoint;

import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.zip.CRC32C;

/** CRC-32C (Castagnoli) of a tensor's bytes, taken as they pass by; in text eight hexadecimal digits. */
public final class Checksum {
    private final CRC32C sum = new CRC32C();

    /** The text of these bytes. */
    static String of(byte[] bytes) {
        Checksum sum = new Checksum();
        sum.add(ByteBuffer.wrap(bytes));
        return sum.text();
    }

    /** Adds the bytes from position to limit, both of which stay. */
    public void add(ByteBuffer bytes) {
        sum.update(bytes.duplicate());
    }

    /** Of all bytes so far. */
    public String text() {
        return String.format(Locale.ROOT, "%08x", sum.getValue());
    }
}

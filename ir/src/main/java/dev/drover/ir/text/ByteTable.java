package dev.drover.ir.text;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Values by ranges of a scanner's bytes: an open hash table that makes no strings. */
final class ByteTable<T> {
    private final HloScanner scanner;
    private int[] starts = new int[64];
    private int[] lengths = new int[64];
    private int[] hashes = new int[64];
    private @Nullable Object[] values = new @Nullable Object[64];
    private int size;

    ByteTable(HloScanner scanner) {
        this.scanner = scanner;
    }

    /** The value of the text in [from, to), or null. */
    @SuppressWarnings("unchecked")
    @Nullable
    T get(int from, int to, int hash) {
        return (@Nullable T) values[slot(from, to - from, hash)];
    }

    /** Sets a value and returns the one that was there. */
    @SuppressWarnings("unchecked")
    @Nullable
    T put(int from, int to, int hash, T value) {
        int slot = slot(from, to - from, hash);
        Object old = values[slot];
        starts[slot] = from;
        lengths[slot] = to - from;
        hashes[slot] = hash;
        values[slot] = value;
        if (old == null && ++size * 2 > values.length) {
            grow();
        }
        return (@Nullable T) old;
    }

    void clear() {
        Arrays.fill(values, null);
        size = 0;
    }

    private int slot(int from, int length, int hash) {
        int mask = values.length - 1;
        int slot = hash & mask;
        while (values[slot] != null
                && (hashes[slot] != hash || lengths[slot] != length || !scanner.same(starts[slot], from, length))) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void grow() {
        int[] oldStarts = starts;
        int[] oldLengths = lengths;
        int[] oldHashes = hashes;
        Object[] oldValues = values;
        int capacity = oldValues.length * 2;
        starts = new int[capacity];
        lengths = new int[capacity];
        hashes = new int[capacity];
        values = new @Nullable Object[capacity];
        for (int i = 0; i < oldValues.length; i++) {
            if (oldValues[i] != null) {
                int slot = oldHashes[i] & (capacity - 1);
                while (values[slot] != null) {
                    slot = (slot + 1) & (capacity - 1);
                }
                starts[slot] = oldStarts[i];
                lengths[slot] = oldLengths[i];
                hashes[slot] = oldHashes[i];
                values[slot] = oldValues[i];
            }
        }
    }
}

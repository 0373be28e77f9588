package dev.drover.solver;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Results by short rows of integers, such as the numbers of the tables that a step takes. A look at it makes no object: the key is put
 * together in place, with {@link #begin} and {@link #add}.
 */
final class Memo<T> {
    private int[] key = new int[16];
    private int length;

    /** All keys one after the other. */
    private int[] pool = new int[256];

    private int pooled;

    /** By entry: where its key ends in the pool, and what it is. */
    private int[] end = new int[64];

    private Object[] result = new Object[64];
    private int count;

    /** Entries by their hash, one more than their number; 0 is free. */
    private int[] slots = new int[128];

    /** Begins a key. */
    void begin(int first, int second) {
        key[0] = first;
        key[1] = second;
        length = 2;
    }

    void add(int next) {
        if (length == key.length) {
            key = Arrays.copyOf(key, 2 * length);
        }
        key[length++] = next;
    }

    /** Sorts what was added last. */
    void sortLast(int many) {
        Arrays.sort(key, length - many, length);
    }

    /** The result of the key, null if there is none. */
    @SuppressWarnings("unchecked")
    @Nullable
    T get() {
        int entry = slots[slot()] - 1;
        return entry < 0 ? null : (T) result[entry];
    }

    /** Sets the result of the key; nothing may have begun another one since. */
    void put(T value) {
        int slot = slot();
        if (count == end.length) {
            end = Arrays.copyOf(end, 2 * count);
            result = Arrays.copyOf(result, 2 * count);
        }
        while (pooled + length > pool.length) {
            pool = Arrays.copyOf(pool, 2 * pool.length);
        }
        System.arraycopy(key, 0, pool, pooled, length);
        pooled += length;
        end[count] = pooled;
        result[count++] = value;
        slots[slot] = count;
        if (2 * count > slots.length) {
            grow();
        }
    }

    /** The place of the key, or the free one for it. */
    private int slot() {
        int at = hash(key, 0, length) & (slots.length - 1);
        while (slots[at] != 0 && !isKeyOf(slots[at] - 1)) {
            at = (at + 1) & (slots.length - 1);
        }
        return at;
    }

    private boolean isKeyOf(int entry) {
        int from = entry == 0 ? 0 : end[entry - 1];
        if (end[entry] - from != length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (pool[from + i] != key[i]) {
                return false;
            }
        }
        return true;
    }

    private void grow() {
        slots = new int[2 * slots.length];
        int from = 0;
        for (int entry = 0; entry < count; entry++) {
            int at = hash(pool, from, end[entry]) & (slots.length - 1);
            while (slots[at] != 0) {
                at = (at + 1) & (slots.length - 1);
            }
            slots[at] = entry + 1;
            from = end[entry];
        }
    }

    private static int hash(int[] values, int from, int to) {
        int hash = 1;
        for (int i = from; i < to; i++) {
            hash = (hash + values[i]) * 0x9E3779B1;
            hash ^= hash >>> 15;
        }
        return hash;
    }
}

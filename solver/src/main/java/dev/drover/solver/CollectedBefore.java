package dev.drover.solver;

import java.util.Arrays;

/**
 * What was collected over an edge before: equal matrices with equal messages give the same minima, which the repeated layers of a model
 * have in common. Only large matrices are worth the look; where few looks find something they are left out for some sweeps.
 */
final class CollectedBefore {
    private static final int LOG_SLOTS = 15;

    /** Numbers kept at most, after which all are forgotten. */
    private static final int POOL = 1 << 20;

    /** A matrix is looked up if it has at least so many entries for each number that the look reads or writes. */
    private static final int WORTH = 8;

    /** Sweeps without looks after one in which less than a quarter was found. */
    private static final int PAUSE = 15;

    /** Position of an entry in the pool plus one, 0 for none: number of the matrix, message, minima. */
    private final int[] slots = new int[1 << LOG_SLOTS];

    private double[] pool = new double[0];
    private int filled;
    private int found = -1;
    private int slot = -1;
    private long looks;
    private long hits;
    private int pause;

    /** Begins a sweep. */
    void beginSweep() {
        pause = pause > 0 ? pause - 1 : 4 * hits < looks ? PAUSE : 0;
        looks = 0;
        hits = 0;
    }

    /** Looks for the minima; returns whether they were written to {@code least}. */
    boolean find(int number, int entries, double[] message, int width, double[] least) {
        int count = message.length;
        slot = -1;
        if (pause > 0 || entries < WORTH * (count + width)) {
            return false;
        }
        looks++;
        long hash = number;
        for (int i = 0; i < count; i++) {
            hash = (hash + Double.doubleToRawLongBits(message[i])) * 0x9E3779B97F4A7C15L;
            hash ^= hash >>> 32;
        }
        slot = (int) (hash * 0x9E3779B97F4A7C15L >>> 64 - LOG_SLOTS);
        found = slots[slot] - 1;
        if (found < 0 || pool[found] != number) {
            return false;
        }
        int at = found + 1;
        for (int i = 0; i < count; i++) {
            if (pool[at + i] != message[i]) {
                return false;
            }
        }
        System.arraycopy(pool, at + count, least, 0, width);
        hits++;
        return true;
    }

    /** Keeps the minima that the latest look did not find. */
    void keep(int number, double[] message, int width, double[] least) {
        if (slot < 0) {
            return;
        }
        int size = 1 + message.length + width;
        if (pool.length == 0) {
            pool = new double[POOL];
        }
        if (filled + size > pool.length) {
            Arrays.fill(slots, 0);
            filled = 0;
            if (size > pool.length) {
                return;
            }
        }
        pool[filled] = number;
        System.arraycopy(message, 0, pool, filled + 1, message.length);
        System.arraycopy(least, 0, pool, filled + 1 + message.length, width);
        slots[slot] = filled + 1;
        filled += size;
    }
}

package dev.drover.solver;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Integers as a key; not to be written. */
final class IntRow {
    private final int[] values;
    private final int hash;

    IntRow(int[] values) {
        this.values = values;
        this.hash = Arrays.hashCode(values);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof IntRow row && hash == row.hash && Arrays.equals(values, row.values);
    }

    @Override
    public int hashCode() {
        return hash;
    }
}

package dev.drover.plan.sim;

import java.util.Locale;
import java.util.stream.Stream;

/** The one unit in which a column of sizes is written, that of its largest, so that they can be compared at a glance. */
public enum ByteUnit {
    B,
    KIB,
    MIB,
    GIB,
    TIB;

    private static final int STEP_BITS = 10;
    /** Below, the exact number is as short. */
    private static final long SMALL_BYTES = 1 << 14;

    /** For these sizes. */
    public static ByteUnit of(Stream<Long> sizes) {
        long largest = sizes.mapToLong(Long::longValue).max().orElse(0);
        int unit = 0;
        while (unit < TIB.ordinal() && largest >= SMALL_BYTES && largest >> STEP_BITS * (unit + 1) > 0) {
            unit++;
        }
        return values()[unit];
    }

    /** A size in this unit: {@code 12.5 MiB}, {@code <0.1 MiB}, {@code 0 MiB}. */
    public String text(long bytes) {
        String name = this == B ? "B" : name().charAt(0) + "iB";
        if (this == B || bytes == 0) {
            return bytes + " " + name;
        }
        double value = bytes / (double) (1L << STEP_BITS * ordinal());
        return value < 0.05 ? "<0.1 " + name : String.format(Locale.ROOT, "%.1f %s", value, name);
    }
}

package dev.drover.plan;

import dev.drover.ir.UserError;

/** Checks of figures that people may have written. */
public final class Wanted {
    /** About a quarter of an hour, in nanoseconds: what takes longer is a mistake, and would not add up in a long. */
    private static final long MOST_NANOS = 1_000_000_000_000L;

    private Wanted() {}

    /** Fails with {@link UserError} where a figure is too small. */
    public static void atLeast(String key, long value, long least) {
        if (value < least) {
            throw new UserError("The " + key + " (" + value + ") must be at least " + least + ".");
        }
    }

    /**
     * Fails with {@link UserError} where a figure is too small.
     *
     * @param owner what has it, such as {@code "a link"}
     */
    public static void atLeast(String key, long value, long least, String owner) {
        if (value < least) {
            throw new UserError("The " + key + " (" + value + ") of " + owner + " must be at least " + least + ".");
        }
    }

    /**
     * Fails with {@link UserError} where a time is none.
     *
     * @param owner what has it, such as {@code "a link"}
     */
    public static void nanos(String key, double value, String owner) {
        if (!(value >= 0 && value <= MOST_NANOS)) {
            String number = value == Math.rint(value) ? String.valueOf((long) value) : String.valueOf(value);
            throw new UserError("The " + key + " (" + number + ") of " + owner + " must be "
                    + (value > MOST_NANOS ? "at most " + MOST_NANOS : "at least 0") + ".");
        }
    }

    /**
     * Fails with {@link UserError} where a speed is none.
     *
     * @param owner what has it
     */
    public static void speed(String key, double value, String owner) {
        if (!(value >= 1 && value < Double.POSITIVE_INFINITY)) {
            throw new UserError("The " + key + " (" + value + ") of " + owner + " must be at least 1.");
        }
    }
}

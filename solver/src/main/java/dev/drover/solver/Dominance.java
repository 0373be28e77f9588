package dev.drover.solver;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which values of a variable can go: those without partner, and those that cost no less and use no less than another whatever the
 * neighbours do. Variables that look the same (equal costs, equal use, the same matrices: repeated layers) are tested once.
 */
final class Dominance {
    /** Larger variables are left alone: the test takes the square of the values. */
    private static final int MOST_VALUES = 400;

    /** And those with more pairs of values times edges: a hub of thousands of edges has hardly a value that another beats. */
    private static final long MOST_LOOKS = 20_000_000;

    private final boolean dominance;
    private final Map<Look, boolean[]> goneByLook = new HashMap<>();

    Dominance(boolean dominance) {
        this.dominance = dominance;
    }

    /**
     * One end of an edge. Its matrix is there both ways, so that every loop of the test runs along memory; what the test asks of a matrix
     * alone is found once.
     */
    static final class Side {
        private final int look;
        private final int others;
        /** {@code values x others}. */
        private final double[] byValue;
        /** {@code others x values}. */
        private final double[] byOther;

        private int @Nullable [] home;

        private Side(int look, int others, double[] byValue, double[] byOther) {
            this.look = look;
            this.others = others;
            this.byValue = byValue;
            this.byOther = byOther;
        }

        /** Takes a row-major matrix with its number and its columns; the variable's values are the rows. */
        static Side ofRows(double[] matrix, double[] transposed, int number, int columns) {
            return new Side(2 * number + 1, columns, matrix, transposed);
        }

        /** The same matrix seen from its columns. */
        static Side ofColumns(double[] matrix, double[] transposed, int number, int columns) {
            return new Side(2 * number, matrix.length / columns, transposed, matrix);
        }

        /** By value, the neighbour's value that suits it best; -1 if it has no partner at all. */
        private int[] home() {
            int[] known = home;
            if (known == null) {
                known = new int[byValue.length / others];
                for (int k = 0; k < known.length; k++) {
                    int best = k * others;
                    for (int at = best + 1; at < (k + 1) * others; at++) {
                        best = byValue[at] < byValue[best] ? at : best;
                    }
                    known[k] = byValue[best] == Double.POSITIVE_INFINITY ? -1 : best - k * others;
                }
                home = known;
            }
            return known;
        }

        /** Takes off, so many times, how much more each value costs than {@code worse} where the neighbour suits that best. */
        private void takeExtra(int worse, int times, double[] surplus) {
            int at = home()[worse];
            double cost = byValue[worse * others + at];
            double[] from = byOther;
            for (int k = 0, i = at * surplus.length; k < surplus.length; k++, i++) {
                surplus[k] -= times * (from[i] - cost);
            }
        }

        private double extraAtHome(int better, int worse) {
            int at = home()[worse];
            return byValue[better * others + at] - byValue[worse * others + at];
        }

        /** The most that {@code better} can cost more than {@code worse}. */
        private double mostExtra(int better, int worse) {
            double most = Double.NEGATIVE_INFINITY;
            for (int b = better * others, w = worse * others, end = w + others; w < end; b++, w++) {
                double cost = byValue[w];
                if (cost != Double.POSITIVE_INFINITY) {
                    most = Math.max(most, byValue[b] - cost);
                }
            }
            return most;
        }
    }

    /** All that the test looks at. */
    private static final class Look {
        private final double[] unary;
        private final long[][] usage;
        private final int[] sides;
        private final int hash;

        Look(double[] unary, long[][] usage, int[] sides) {
            this.unary = unary;
            this.usage = usage;
            this.sides = sides;
            int h = Arrays.hashCode(unary) * 31 + Arrays.hashCode(sides);
            for (long[] u : usage) {
                h = h * 31 + Arrays.hashCode(u);
            }
            this.hash = h;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Look look
                    && Arrays.equals(unary, look.unary)
                    && Arrays.deepEquals(usage, look.usage)
                    && Arrays.equals(sides, look.sides);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    /** By value, whether it can go; not to be written. All are gone if the variable has no value left. */
    boolean[] gone(double[] unary, long[][] usage, Side[] sides) {
        int[] looks = new int[sides.length];
        for (int s = 0; s < looks.length; s++) {
            looks[s] = sides[s].look;
        }
        Arrays.sort(looks);
        Look look = new Look(unary, usage, looks);
        boolean[] known = goneByLook.get(look);
        if (known == null) {
            known = test(unary, usage, sides);
            goneByLook.put(look, known);
        }
        return known;
    }

    /** As {@link #gone}, without memory. */
    boolean[] test(double[] unary, long[][] usage, Side[] all) {
        int width = unary.length;
        Side[] sides = all.clone();
        Arrays.sort(sides, Comparator.comparingInt((Side side) -> side.look));
        int[] times = new int[sides.length];
        int distinct = 0;
        for (int s = 0; s < sides.length; s++) {
            if (s == 0 || sides[s].look != sides[distinct - 1].look) {
                sides[distinct++] = sides[s];
            }
            times[distinct - 1]++;
        }
        sides = Arrays.copyOf(sides, distinct);
        boolean[] gone = new boolean[width];
        int left = width;
        for (int k = 0; k < width; k++) {
            boolean dead = unary[k] == Double.POSITIVE_INFINITY;
            for (int s = 0; s < distinct && !dead; s++) {
                dead = sides[s].home()[k] < 0;
            }
            gone[k] = dead;
            left -= dead ? 1 : 0;
        }
        if (dominance && left > 1 && width <= MOST_VALUES && (long) left * left * distinct <= MOST_LOOKS) {
            double[] surplus = new double[width];
            for (int k = 0; k < width; k++) {
                if (gone[k]) {
                    continue;
                }
                for (int better = 0; better < width; better++) {
                    surplus[better] = unary[k] - unary[better];
                }
                for (int s = 0; s < distinct; s++) {
                    sides[s].takeExtra(k, times[s], surplus);
                }
                for (int better = 0; better < width && !gone[k]; better++) {
                    gone[k] = surplus[better] >= 0
                            && better != k
                            && !gone[better]
                            && usesNoMore(better, k, usage)
                            && costsNoMore(better, k, surplus[better], sides, times);
                }
            }
        }
        return gone;
    }

    private static boolean usesNoMore(int better, int worse, long[][] usage) {
        for (long[] u : usage) {
            if (u[better] > u[worse]) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether a value costs no more than another whatever the neighbours do.
     *
     * @param surplus how much less it costs where all neighbours suit the other one best
     */
    private static boolean costsNoMore(int better, int worse, double surplus, Side[] sides, int[] times) {
        double left = surplus;
        for (int s = 0; s < sides.length && left >= 0; s++) {
            left -= times[s] * (sides[s].mostExtra(better, worse) - sides[s].extraAtHome(better, worse));
        }
        return left >= 0;
    }
}

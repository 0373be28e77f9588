package dev.drover.solver;

import java.util.Arrays;
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

    /** One end of an edge: its matrix (row-major, shared by equal edges) and whether the variable's values are the rows. */
    static final class Side {
        private final double[] matrix;
        private final int number;
        private final boolean first;
        private final int width;

        /** Takes the matrix with its number and its columns. */
        Side(double[] matrix, int number, boolean first, int width) {
            this.matrix = matrix;
            this.number = number;
            this.first = first;
            this.width = width;
        }

        private int look() {
            return number * 2 + (first ? 1 : 0);
        }

        private int others() {
            return first ? width : matrix.length / width;
        }

        private double cost(int value, int other) {
            return matrix[first ? value * width + other : other * width + value];
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
            looks[s] = sides[s].look();
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

    private boolean[] test(double[] unary, long[][] usage, Side[] sides) {
        boolean[] gone = new boolean[unary.length];
        int left = unary.length;
        for (int k = 0; k < unary.length; k++) {
            boolean dead = unary[k] == Double.POSITIVE_INFINITY;
            for (int s = 0; s < sides.length && !dead; s++) {
                dead = isWithoutPartner(k, sides[s]);
            }
            gone[k] = dead;
            left -= dead ? 1 : 0;
        }
        if (dominance && left > 1 && unary.length <= MOST_VALUES && (long) left * left * sides.length <= MOST_LOOKS) {
            int[] home = new int[sides.length];
            for (int k = 0; k < unary.length; k++) {
                for (int s = 0; s < home.length && !gone[k]; s++) {
                    home[s] = cheapest(k, sides[s]);
                }
                for (int better = 0; better < unary.length && !gone[k]; better++) {
                    gone[k] = better != k
                            && !gone[better]
                            && mayDominate(better, k, unary, sides, home)
                            && dominates(better, k, unary, usage, sides);
                }
            }
        }
        return gone;
    }

    /** The neighbour's value that suits a value best. */
    private static int cheapest(int k, Side side) {
        int best = 0;
        for (int o = 1; o < side.others(); o++) {
            best = side.cost(k, o) < side.cost(k, best) ? o : best;
        }
        return best;
    }

    /** Whether it costs no more where the neighbours suit the worse value best: nearly always the end of the test already. */
    private static boolean mayDominate(int better, int worse, double[] unary, Side[] sides, int[] home) {
        double surplus = unary[worse] - unary[better];
        for (int s = 0; s < sides.length; s++) {
            surplus -= sides[s].cost(better, home[s]) - sides[s].cost(worse, home[s]);
        }
        return surplus >= 0;
    }

    private static boolean isWithoutPartner(int k, Side side) {
        for (int o = 0; o < side.others(); o++) {
            if (side.cost(k, o) != Double.POSITIVE_INFINITY) {
                return false;
            }
        }
        return true;
    }

    private static boolean dominates(int better, int worse, double[] unary, long[][] usage, Side[] sides) {
        double surplus = unary[worse] - unary[better];
        for (long[] u : usage) {
            if (u[better] > u[worse]) {
                return false;
            }
        }
        for (Side side : sides) {
            double most = Double.NEGATIVE_INFINITY;
            int others = side.others();
            for (int o = 0; o < others; o++) {
                double w = side.cost(worse, o);
                if (w != Double.POSITIVE_INFINITY) {
                    most = Math.max(most, side.cost(better, o) - w);
                }
            }
            if (most == Double.POSITIVE_INFINITY) {
                return false;
            }
            surplus -= most;
        }
        return surplus >= 0;
    }
}

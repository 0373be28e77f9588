package dev.drover.solver;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Tables of costs and rows of costs, usages and values: equal ones are one object with a number, and every operation on them is done once:
 * what repeated layers have in common is computed for one of them, and looked up by numbers for the others.
 */
final class Tables {
    /** The largest whole number that doubles tell from its neighbours. */
    private static final double LARGEST_EXACT = 0x1p53;

    private final Map<Costs, Table> interned = new HashMap<>();
    private final Map<Costs, Costs> internedCosts = new HashMap<>();
    private final Map<Values, Values> internedValues = new HashMap<>();
    private final Map<Usage, Usage> internedUsage = new HashMap<>();
    private final Memo<Table> tableSums = new Memo<>();
    private final Memo<Costs> costSums = new Memo<>();
    private final Memo<Usage> usageSums = new Memo<>();
    private final Memo<Table> fewerRows = new Memo<>();
    private final Memo<Costs> fewerCosts = new Memo<>();
    private final Memo<Usage> fewerUsage = new Memo<>();
    private final Memo<Values> fewerValues = new Memo<>();
    private Values[] upTo = new Values[0];

    /** Costs of pairs of values, row-major. */
    static final class Table {
        final double[] values;
        final int columns;
        final int number;
        private int separable = -1;
        private Dominance.@Nullable Side side;
        private @Nullable Table transposed;
        private @Nullable Costs leastColumn;
        private @Nullable Costs firstRowRest;

        private Table(double[] values, int columns, int number) {
            this.values = values;
            this.columns = columns;
            this.number = number;
        }

        int rows() {
            return values.length / columns;
        }

        /** Whether it is a sum of a cost of the row and a cost of the column, all finite. */
        boolean isSeparable() {
            if (separable < 0) {
                separable = Tables.isSeparable(values, columns) ? 1 : 0;
            }
            return separable == 1;
        }
    }

    /** Whether a matrix is a sum of a cost of the row and a cost of the column, all of them exact. */
    static boolean isSeparable(double[] matrix, int columns) {
        for (int row = 0; row < matrix.length; row += columns) {
            double step = matrix[row] - matrix[0];
            for (int j = 0; j < columns; j++) {
                // Infinite costs are above the exact ones.
                if (matrix[row + j] > LARGEST_EXACT || matrix[row + j] - matrix[j] != step) {
                    return false;
                }
            }
        }
        return true;
    }

    /** The column that costs least in the first row: what other columns cost more is not negative. */
    static int least(double[] matrix, int columns) {
        int least = 0;
        for (int j = 1; j < columns; j++) {
            least = matrix[j] < matrix[least] ? j : least;
        }
        return least;
    }

    /** A row of costs; as a key with its width. */
    static final class Costs {
        final double[] values;
        final int number;
        private final int columns;
        private final int hash;

        private Costs(double[] values, int columns, int number) {
            this.values = values;
            this.number = number;
            this.columns = columns;
            this.hash = Arrays.hashCode(values) * 31 + columns;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Costs costs
                    && hash == costs.hash
                    && columns == costs.columns
                    && Arrays.equals(values, costs.values);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    /** What each value uses. */
    static final class Usage {
        final long[] values;
        final int number;
        private final long least;
        private final long most;
        private final int hash;
        private long @Nullable [] aboveLeast;

        private Usage(long[] values, int number) {
            this.values = values;
            this.number = number;
            this.hash = Arrays.hashCode(values);
            long low = values[0];
            long high = values[0];
            for (long value : values) {
                low = Math.min(low, value);
                high = Math.max(high, value);
            }
            least = low;
            most = high;
        }

        long least() {
            return least;
        }

        long most() {
            return most;
        }

        boolean isConstant() {
            return least == most;
        }

        /** What each value uses more than the one that uses least; not to be written. */
        long[] aboveLeast() {
            long[] known = aboveLeast;
            if (known == null) {
                known = new long[values.length];
                for (int k = 0; k < known.length; k++) {
                    known[k] = values[k] - least;
                }
                aboveLeast = known;
            }
            return known;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Usage usage && hash == usage.hash && Arrays.equals(values, usage.values);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    /** Some of the values of a variable, in rising order. */
    static final class Values {
        final int[] values;
        final int number;
        private final int hash;

        private Values(int[] values, int number) {
            this.values = values;
            this.number = number;
            this.hash = Arrays.hashCode(values);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Values some && hash == some.hash && Arrays.equals(values, some.values);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    /** Returns the table of these costs. */
    Table of(double[] values, int columns) {
        Costs key = new Costs(values, columns, -1);
        Table known = interned.get(key);
        if (known == null) {
            known = new Table(values, columns, interned.size());
            interned.put(key, known);
        }
        return known;
    }

    Costs costs(double[] values) {
        return interned(internedCosts, new Costs(values, 1, internedCosts.size()));
    }

    Usage usage(long[] values) {
        return interned(internedUsage, new Usage(values, internedUsage.size()));
    }

    Values values(int[] values) {
        return interned(internedValues, new Values(values, internedValues.size()));
    }

    private static <T> T interned(Map<T, T> known, T made) {
        T equal = known.putIfAbsent(made, made);
        return equal == null ? made : equal;
    }

    /** Returns 0 .. count - 1. */
    Values upTo(int count) {
        if (count >= upTo.length) {
            upTo = Arrays.copyOf(upTo, Math.max(count + 1, 2 * upTo.length));
        }
        Values known = upTo[count];
        if (known == null) {
            int[] all = new int[count];
            for (int i = 0; i < count; i++) {
                all[i] = i;
            }
            known = values(all);
            upTo[count] = known;
        }
        return known;
    }

    Table transposed(Table table) {
        Table known = table.transposed;
        if (known == null) {
            int rows = table.rows();
            known = of(Core.transposed(table.values, rows, table.columns), rows);
            table.transposed = known;
            known.transposed = table;
        }
        return known;
    }

    /** The end of an edge whose values are the rows of the table. */
    Dominance.Side side(Table table) {
        Dominance.Side known = table.side;
        if (known == null) {
            known = Dominance.Side.ofRows(table.values, transposed(table).values, table.number, table.columns);
            table.side = known;
        }
        return known;
    }

    Costs leastColumn(Table table) {
        Costs known = table.leastColumn;
        if (known == null) {
            double[] out = new double[table.rows()];
            int least = least(table.values, table.columns);
            for (int i = 0; i < out.length; i++) {
                out[i] = table.values[i * table.columns + least];
            }
            known = costs(out);
            table.leastColumn = known;
        }
        return known;
    }

    /** The first row less its least cost. */
    Costs firstRowRest(Table table) {
        Costs known = table.firstRowRest;
        if (known == null) {
            double[] out = new double[table.columns];
            int least = least(table.values, table.columns);
            for (int j = 0; j < out.length; j++) {
                out[j] = table.values[j] - table.values[least];
            }
            known = costs(out);
            table.firstRowRest = known;
        }
        return known;
    }

    Table sum(Table a, Table b) {
        tableSums.begin(a.number, b.number);
        Table known = tableSums.get();
        if (known == null) {
            known = of(sum(a.values, b.values), a.columns);
            tableSums.put(known);
        }
        return known;
    }

    Costs sum(Costs a, Costs b) {
        costSums.begin(a.number, b.number);
        Costs known = costSums.get();
        if (known == null) {
            known = costs(sum(a.values, b.values));
            costSums.put(known);
        }
        return known;
    }

    private static double[] sum(double[] a, double[] b) {
        double[] out = a.clone();
        for (int i = 0; i < out.length; i++) {
            out[i] += b[i];
        }
        return out;
    }

    Usage sum(Usage a, Usage b) {
        usageSums.begin(a.number, b.number);
        Usage known = usageSums.get();
        if (known == null) {
            long[] out = a.values.clone();
            for (int i = 0; i < out.length; i++) {
                out[i] += b.values[i];
            }
            known = usage(out);
            usageSums.put(known);
        }
        return known;
    }

    Table selectRows(Table table, Values rows) {
        fewerRows.begin(table.number, rows.number);
        Table known = fewerRows.get();
        if (known == null) {
            double[] out = new double[rows.values.length * table.columns];
            for (int i = 0; i < rows.values.length; i++) {
                System.arraycopy(table.values, rows.values[i] * table.columns, out, i * table.columns, table.columns);
            }
            known = of(out, table.columns);
            fewerRows.put(known);
        }
        return known;
    }

    Costs select(Costs from, Values at) {
        fewerCosts.begin(from.number, at.number);
        Costs known = fewerCosts.get();
        if (known == null) {
            double[] out = new double[at.values.length];
            for (int i = 0; i < out.length; i++) {
                out[i] = from.values[at.values[i]];
            }
            known = costs(out);
            fewerCosts.put(known);
        }
        return known;
    }

    Usage select(Usage from, Values at) {
        fewerUsage.begin(from.number, at.number);
        Usage known = fewerUsage.get();
        if (known == null) {
            long[] out = new long[at.values.length];
            for (int i = 0; i < out.length; i++) {
                out[i] = from.values[at.values[i]];
            }
            known = usage(out);
            fewerUsage.put(known);
        }
        return known;
    }

    Values select(Values from, Values at) {
        fewerValues.begin(from.number, at.number);
        Values known = fewerValues.get();
        if (known == null) {
            int[] out = new int[at.values.length];
            for (int i = 0; i < out.length; i++) {
                out[i] = from.values[at.values[i]];
            }
            known = values(out);
            fewerValues.put(known);
        }
        return known;
    }
}

package dev.drover.solver;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Tables of costs, equal ones stored once and every operation on them done once: what repeated layers have in common is computed for
 * one of them.
 */
final class Tables {
    private final Map<Row, Table> interned = new HashMap<>();
    private final Map<Row, double[]> internedRows = new HashMap<>();
    private final Map<IntRow, int[]> internedValues = new HashMap<>();
    private final Map<StrategyProblem.Row, long[]> internedUsage = new HashMap<>();
    private final Map<Long, Table> sums = new HashMap<>();
    private final Map<SelectKey, Table> selections = new HashMap<>();

    /** Costs of pairs of values, row-major. */
    static final class Table {
        final double[] values;
        final int columns;
        final int number;
        private int separable = -1;
        private Dominance.@Nullable Side side;
        private @Nullable Table transposed;

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
                separable = computeSeparable() ? 1 : 0;
            }
            return separable == 1;
        }

        private boolean computeSeparable() {
            for (int i = 0; i < rows(); i++) {
                double step = values[i * columns] - values[0];
                for (int j = 0; j < columns; j++) {
                    double cost = values[i * columns + j];
                    // An infinite cost makes a difference that is not a number, or differs.
                    if (cost == Double.POSITIVE_INFINITY || cost - values[j] != step) {
                        return false;
                    }
                }
            }
            return true;
        }

        double[] firstColumn() {
            double[] out = new double[rows()];
            for (int i = 0; i < out.length; i++) {
                out[i] = values[i * columns];
            }
            return out;
        }

        /** The first row less its first cost. */
        double[] firstRowRest() {
            double[] out = new double[columns];
            for (int j = 0; j < columns; j++) {
                out[j] = values[j] - values[0];
            }
            return out;
        }
    }

    /** Costs and their width as a key. */
    static final class Row {
        private final double[] values;
        private final int columns;
        private final int hash;

        Row(double[] values, int columns) {
            this.values = values;
            this.columns = columns;
            this.hash = Arrays.hashCode(values) * 31 + columns;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Row row
                    && hash == row.hash
                    && columns == row.columns
                    && Arrays.equals(values, row.values);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    private static final class SelectKey {
        private final int table;
        private final int[] rows;
        private final int hash;

        SelectKey(int table, int[] rows) {
            this.table = table;
            this.rows = rows;
            this.hash = Arrays.hashCode(rows) * 31 + table;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof SelectKey key && table == key.table && Arrays.equals(rows, key.rows);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    /** Returns the table of these costs. */
    Table of(double[] values, int columns) {
        return interned.computeIfAbsent(new Row(values, columns), r -> new Table(values, columns, interned.size()));
    }

    Table sum(Table a, Table b) {
        return sums.computeIfAbsent(((long) a.number << 32) | b.number, k -> of(add(a.values, b.values), a.columns));
    }

    private static double[] add(double[] a, double[] b) {
        double[] out = a.clone();
        for (int i = 0; i < out.length; i++) {
            out[i] += b[i];
        }
        return out;
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

    Table selectRows(Table table, int[] rows) {
        return selections.computeIfAbsent(new SelectKey(table.number, rows), k -> {
            double[] out = new double[rows.length * table.columns];
            for (int i = 0; i < rows.length; i++) {
                System.arraycopy(table.values, rows[i] * table.columns, out, i * table.columns, table.columns);
            }
            return of(out, table.columns);
        });
    }

    double[] plus(double[] a, double[] b) {
        return row(add(a, b));
    }

    double[] select(double[] from, int[] at) {
        double[] out = new double[at.length];
        for (int i = 0; i < at.length; i++) {
            out[i] = from[at[i]];
        }
        return row(out);
    }

    private double[] row(double[] values) {
        return internedRows.computeIfAbsent(new Row(values, 1), r -> values);
    }

    long[] select(long[] from, int[] at) {
        long[] out = new long[at.length];
        for (int i = 0; i < at.length; i++) {
            out[i] = from[at[i]];
        }
        return internedUsage.computeIfAbsent(new StrategyProblem.Row(out), r -> out);
    }

    int[] select(int[] from, int[] at) {
        int[] out = new int[at.length];
        for (int i = 0; i < at.length; i++) {
            out[i] = from[at[i]];
        }
        return internedValues.computeIfAbsent(new IntRow(out), r -> out);
    }

    /** Returns 0 .. count - 1. */
    int[] upTo(int count) {
        int[] out = new int[count];
        Arrays.setAll(out, i -> i);
        return internedValues.computeIfAbsent(new IntRow(out), r -> out);
    }
}

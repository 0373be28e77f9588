package dev.drover.solver;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The edges of one variable: the other ends in rising order, each with its table (this variable's values are the rows). */
final class Links {
    private int[] ends;
    private Tables.Table[] tables;
    private int count;

    /** With room for so many. */
    Links(int room) {
        ends = new int[room];
        tables = new Tables.Table[room];
    }

    int count() {
        return count;
    }

    int end(int i) {
        return ends[i];
    }

    Tables.Table table(int i) {
        return tables[i];
    }

    void setTable(int i, Tables.Table table) {
        tables[i] = table;
    }

    Tables.@Nullable Table get(int end) {
        int i = Arrays.binarySearch(ends, 0, count, end);
        return i < 0 ? null : tables[i];
    }

    void put(int end, Tables.Table table) {
        int i = Arrays.binarySearch(ends, 0, count, end);
        if (i >= 0) {
            tables[i] = table;
            return;
        }
        if (count == ends.length) {
            ends = Arrays.copyOf(ends, 2 * count + 1);
            tables = Arrays.copyOf(tables, 2 * count + 1);
        }
        int at = -i - 1;
        System.arraycopy(ends, at, ends, at + 1, count - at);
        System.arraycopy(tables, at, tables, at + 1, count - at);
        ends[at] = end;
        tables[at] = table;
        count++;
    }

    void remove(int end) {
        int i = Arrays.binarySearch(ends, 0, count, end);
        if (i >= 0) {
            count--;
            System.arraycopy(ends, i + 1, ends, i, count - i);
            System.arraycopy(tables, i + 1, tables, i, count - i);
        }
    }
}

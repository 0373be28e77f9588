package dev.drover.solver;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the files that programs write, fast: objects with the members of the format, each once, names of plain letters, whole numbers that
 * are not negative and have 63 bits. Of all else, right or wrong, it says that it is {@link Unusual}, without a reason.
 *
 * <pre>
 *   [[0,3,3,0],[7],[0,3,3,0],[7],[5,1]]
 *    1         2   1 again   2, since that came after 1 before: its bytes are compared, no number is read
 * </pre>
 *
 * Layers of a model repeat their matrices in the same order, so nearly all of a large file is compared.
 */
final class ContestScanner {
    private static final int BUFFER_BYTES = 1 << 18;

    /** Bytes of different rows that are kept to be compared. */
    private static final long MOST_KEPT_BYTES = 64L << 20;

    /** How many rows that came after a row are remembered. */
    private static final int GUESSES = 4;

    private final InputStream in;
    private final ContestFile.Deadline deadline;
    private byte[] buffer = new byte[BUFFER_BYTES];
    private int at;
    private int limit;

    /** From here on the bytes must stay in the buffer, -1 if none must. */
    private int keepFrom = -1;

    private long keptBytes;
    private long[] scratch = new long[1024];
    private final Map<StrategyProblem.Row, Known> knownByRow = new HashMap<>();

    /** The row before. */
    private Known last = new Known(new long[0]);

    /** The file must be read in another way. */
    static final class Unusual extends Exception {
        private static final long serialVersionUID = 1;

        private Unusual() {
            super(null, null, false, false);
        }
    }

    /** A row that was read before, and what came after it. */
    private static final class Known {
        private final long[] values;
        private byte @Nullable [] text;
        private final Known[] next = new Known[GUESSES];

        Known(long[] values) {
            this.values = values;
        }

        /** Puts a row in front of those that came after this one. */
        private void nextIs(Known row) {
            Known moved = row;
            for (int i = 0; i < GUESSES; i++) {
                Known here = next[i];
                next[i] = moved;
                if (here == row || here == null) {
                    return;
                }
                moved = here;
            }
        }
    }

    private ContestScanner(InputStream in, ContestFile.Deadline deadline) {
        this.in = in;
        this.deadline = deadline;
    }

    /**
     * Reads a problem.
     *
     * @throws Unusual if it cannot, which says nothing of whether the file is right
     */
    static ContestRows read(InputStream in, ContestFile.Deadline deadline) throws IOException, Unusual {
        ContestScanner scanner = new ContestScanner(in, deadline);
        ContestRows rows = new ContestRows();
        rows.notNegative = true;
        scanner.require('{');
        scanner.requireKey("problem");
        scanner.problem(rows);
        scanner.require('}');
        if (scanner.afterSpace() >= 0) {
            throw new Unusual();
        }
        return rows;
    }

    private void problem(ContestRows rows) throws IOException, Unusual {
        boolean limitSeen = false;
        boolean nameSeen = false;
        require('{');
        do {
            switch (key()) {
                case "name" -> {
                    usual(!nameSeen);
                    nameSeen = true;
                    rows.name = text();
                }
                case "usage_limit" -> {
                    usual(!limitSeen);
                    limitSeen = true;
                    rows.usageLimit = number(afterSpace());
                }
                case "nodes" -> {
                    usual(rows.intervals == null && rows.nodeCosts == null && rows.nodeUsages == null);
                    require('{');
                    do {
                        switch (key()) {
                            case "intervals" -> {
                                usual(rows.intervals == null);
                                rows.intervals = pairs();
                            }
                            case "costs" -> {
                                usual(rows.nodeCosts == null);
                                rows.nodeCosts = rows();
                            }
                            case "usages" -> {
                                usual(rows.nodeUsages == null);
                                rows.nodeUsages = rows();
                            }
                            default -> throw new Unusual();
                        }
                    } while (isMore('}'));
                }
                case "edges" -> {
                    usual(rows.edgeNodes == null && rows.edgeCosts == null);
                    require('{');
                    do {
                        switch (key()) {
                            case "nodes" -> {
                                usual(rows.edgeNodes == null);
                                rows.edgeNodes = pairs();
                            }
                            case "costs" -> {
                                usual(rows.edgeCosts == null);
                                rows.edgeCosts = rows();
                            }
                            default -> throw new Unusual();
                        }
                    } while (isMore('}'));
                }
                default -> throw new Unusual();
            }
        } while (isMore('}'));
    }

    /** Reads a list of rows; equal ones are one array. */
    private List<long[]> rows() throws IOException, Unusual {
        return rows(false);
    }

    /** Reads a list of rows of two numbers, which seldom repeat. */
    private List<long[]> pairs() throws IOException, Unusual {
        return rows(true);
    }

    private List<long[]> rows(boolean pairs) throws IOException, Unusual {
        List<long[]> rows = new ArrayList<>();
        require('[');
        do {
            if ((rows.size() & 63) == 0) {
                deadline.check();
            }
            int c = afterSpace();
            if (c == ']' && rows.isEmpty()) {
                return rows;
            }
            usual(c == '[');
            rows.add(pairs ? pair() : row().values);
        } while (isMore(']'));
        return rows;
    }

    /** Reads two numbers, whose bracket is read already. */
    private long[] pair() throws IOException, Unusual {
        long first = number(afterSpace());
        require(',');
        long second = number(afterSpace());
        require(']');
        return new long[] {first, second};
    }

    /** Reads a row whose bracket is read already. */
    private Known row() throws IOException, Unusual {
        Known row = guessed();
        if (row == null) {
            keepFrom = at;
            int count = 0;
            int c = afterSpace();
            while (c != ']') {
                if (count == scratch.length) {
                    scratch = Arrays.copyOf(scratch, 2 * count);
                }
                scratch[count++] = number(c);
                c = afterSpace();
                if (c == ',') {
                    c = afterSpace();
                    usual(c != ']');
                } else {
                    usual(c == ']');
                }
            }
            long[] values = Arrays.copyOf(scratch, count);
            StrategyProblem.Row key = new StrategyProblem.Row(values);
            row = knownByRow.get(key);
            if (row == null) {
                row = new Known(values);
                knownByRow.put(key, row);
            }
            if (row.text == null && keptBytes < MOST_KEPT_BYTES) {
                row.text = Arrays.copyOfRange(buffer, keepFrom, at);
                keptBytes += at - keepFrom;
            }
            keepFrom = -1;
            last.nextIs(row);
        }
        last = row;
        return row;
    }

    /** The row that comes now if it is one of those that came after the last one before, null if it is not. */
    private @Nullable Known guessed() throws IOException {
        Known before = last;
        for (int i = 0; i < GUESSES && before.next[i] != null; i++) {
            Known guess = before.next[i];
            byte[] text = guess.text;
            if (text == null) {
                continue;
            }
            while (limit - at < text.length && fill()) {
                // Until it is all there.
            }
            if (limit - at >= text.length
                    && buffer[at] == text[0]
                    && Arrays.equals(buffer, at, at + text.length, text, 0, text.length)) {
                at += text.length;
                if (i > 0) {
                    before.nextIs(guess);
                }
                return guess;
            }
        }
        return null;
    }

    /** Reads a whole number that begins with this byte. */
    private long number(int first) throws IOException, Unusual {
        usual(first >= '0' && first <= '9');
        long value = first - (long) '0';
        int digits = 1;
        for (int c = next(); ; c = next()) {
            if (c < '0' || c > '9') {
                at -= c < 0 ? 0 : 1;
                return value;
            }
            digits++;
            // Ten to the 18th has 19 digits; what is more than a long becomes negative before the next digit.
            usual(first != '0' && digits <= 19);
            value = value * 10 + (c - '0');
            usual(value >= 0);
        }
    }

    private String key() throws IOException, Unusual {
        String key = text();
        require(':');
        return key;
    }

    private void requireKey(String expected) throws IOException, Unusual {
        usual(key().equals(expected));
    }

    /** Reads a text of plain letters in quotes. */
    private String text() throws IOException, Unusual {
        require('"');
        StringBuilder text = new StringBuilder();
        for (int c = next(); c != '"'; c = next()) {
            usual(c >= ' ' && c < 127 && c != '\\');
            text.append((char) c);
        }
        return text.toString();
    }

    /** Whether a comma comes, or else the end. */
    private boolean isMore(char end) throws IOException, Unusual {
        int c = afterSpace();
        usual(c == ',' || c == end);
        return c == ',';
    }

    private void require(char expected) throws IOException, Unusual {
        usual(afterSpace() == expected);
    }

    private static void usual(boolean is) throws Unusual {
        if (!is) {
            throw new Unusual();
        }
    }

    /** The next byte that is no space, -1 at the end. */
    private int afterSpace() throws IOException {
        int c = next();
        while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            c = next();
        }
        return c;
    }

    /** The next byte, -1 at the end. */
    private int next() throws IOException {
        return at < limit || fill() ? buffer[at++] & 0xff : -1;
    }

    /** Reads more; false at the end. What must stay moves to the front. */
    private boolean fill() throws IOException {
        int from = keepFrom < 0 ? at : keepFrom;
        if (from > 0) {
            System.arraycopy(buffer, from, buffer, 0, limit - from);
            limit -= from;
            at -= from;
            keepFrom -= keepFrom < 0 ? 0 : from;
        }
        if (limit == buffer.length) {
            buffer = Arrays.copyOf(buffer, 2 * buffer.length);
        }
        int count = in.read(buffer, limit, buffer.length - limit);
        limit += Math.max(0, count);
        return count > 0;
    }
}

package dev.drover.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;

/** What commands print: one JSON object or text on stdout, progress on stderr. */
final class Output {
    private Output() {}

    /** One object on one line. */
    static void json(Map<String, ?> object) {
        try {
            System.out.println(new ObjectMapper().writeValueAsString(object));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    static void progress(String line) {
        System.err.println("drover: " + line);
    }

    /** Columns, the first left-aligned, the others right-aligned. */
    static void table(List<String> header, List<List<String>> rows) {
        int columns = header.size();
        int[] widths = new int[columns];
        for (int c = 0; c < columns; c++) {
            widths[c] = header.get(c).length();
            for (List<String> row : rows) {
                widths[c] = Math.max(widths[c], row.get(c).length());
            }
        }
        System.out.println(row(header, widths));
        rows.forEach(row -> System.out.println(row(row, widths)));
    }

    private static String row(List<String> cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int c = 0; c < cells.size(); c++) {
            String cell = cells.get(c);
            String fill = " ".repeat(widths[c] - cell.length());
            line.append(c == 0 ? cell + fill : "  " + fill + cell);
        }
        return line.toString().stripTrailing();
    }

    /** Nanoseconds for people. */
    static String time(double nanos) {
        if (nanos < 1e6) {
            return String.format(java.util.Locale.ROOT, "%.1f us", nanos / 1e3);
        }
        return nanos < 1e10
                ? String.format(java.util.Locale.ROOT, "%.2f ms", nanos / 1e6)
                : String.format(java.util.Locale.ROOT, "%.2f s", nanos / 1e9);
    }
}

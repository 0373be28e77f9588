package dev.drover.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleFunction;

/** What commands print: one JSON object or text on stdout, progress on stderr. */
final class Output {
    /** Columns of a terminal that tables should fit. */
    private static final int WIDTH = 100;

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

    /** Writes a part of a file's text. */
    @FunctionalInterface
    interface Text {
        void writeTo(Writer writer) throws IOException;
    }

    /** Writes a file that {@link #checkWritable} has seen. Fails with {@link UserError}, such as where the disk is full. */
    static void write(Path file, Text text) {
        try (Writer writer = Files.newBufferedWriter(file)) {
            text.writeTo(writer);
        } catch (IOException e) {
            throw unwritable(file, e, "Maybe make room, or take another path.");
        }
    }

    static void write(Path file, String text) {
        write(file, writer -> writer.write(text));
    }

    /**
     * Fails with {@link UserError} if a file cannot be written, before work is done for it: all files that options name are checked here.
     * The folder must be there, since one that is not is a slip of the pen. Leaves no file behind.
     */
    static void checkWritable(Path file) {
        try {
            boolean isNew = !Files.exists(file);
            Files.newByteChannel(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE)
                    .close();
            if (isNew) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw unwritable(file, e, "Maybe make the folder first, or take another path.");
        }
    }

    private static UserError unwritable(Path file, IOException e, String maybe) {
        return new UserError("The file (" + file + ") must be writable, but " + FileReason.of(e) + ".", maybe);
    }

    /**
     * Fails with {@link UserError} if a folder cannot be made or written, before work is done for it. Leaves nothing behind.
     *
     * @param name what it is for, in messages
     */
    static void checkFolder(String name, Path folder) {
        Deque<Path> missing = new ArrayDeque<>();
        Deque<Path> made = new ArrayDeque<>();
        try {
            for (Path at = folder.toAbsolutePath().normalize(); at != null && !Files.exists(at); at = at.getParent()) {
                missing.push(at);
            }
            for (Path at : missing) {
                Files.createDirectory(at);
                made.push(at);
            }
            if (!Files.isDirectory(folder)) {
                throw new UserError("The " + name + " (" + folder + ") must be a folder, but it is a file.");
            }
            Files.delete(Files.createTempFile(folder, "drover", ".check"));
        } catch (IOException e) {
            throw new UserError(
                    "The " + name + " (" + folder + ") must be one that can be made and written, but "
                            + (missing.isEmpty() || !(e instanceof NoSuchFileException)
                                    ? FileReason.of(e)
                                    : "the system does not make it")
                            + ".",
                    "Maybe take another path.");
        } finally {
            made.forEach(Output::deleteIfEmpty);
        }
    }

    /** A folder in which another process has begun to write stays. */
    private static void deleteIfEmpty(Path folder) {
        try {
            Files.deleteIfExists(folder);
        } catch (DirectoryNotEmptyException e) {
            return;
        } catch (IOException e) {
            throw new UserError("The folder (" + folder + ") must be writable, but " + FileReason.of(e) + ".", e);
        }
    }

    /** Columns of numbers, right-aligned; the first one is text, left-aligned. */
    static void table(List<String> header, List<List<String>> rows) {
        table(header, rows, false);
    }

    /** The same with text, left-aligned, in the last column too; wrapped where it would pass column 100. */
    static void tableWithTextAtEnd(List<String> header, List<List<String>> rows) {
        table(header, rows, true);
    }

    /** Columns of text without a header, left-aligned. */
    static void textTable(List<List<String>> rows) {
        int columns = rows.stream().mapToInt(List::size).max().orElse(0);
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int c = 0; c < columns; c++) {
                widths[c] = Math.max(widths[c], row.get(c).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int c = 0; c < columns; c++) {
                line.append(row.get(c)).append(" ".repeat(widths[c] - row.get(c).length() + 2));
            }
            System.out.println(line.toString().stripTrailing());
        }
    }

    private static void table(List<String> header, List<List<String>> rows, boolean textAtEnd) {
        int columns = header.size();
        int[] widths = new int[columns];
        for (int c = 0; c < columns; c++) {
            widths[c] = header.get(c).length();
            for (List<String> row : rows) {
                widths[c] = Math.max(widths[c], row.get(c).length());
            }
        }
        System.out.println(row(header, widths, textAtEnd));
        for (List<String> row : rows) {
            if (textAtEnd) {
                int indent = Arrays.stream(widths)
                        .limit(columns - 1L)
                        .map(w -> w + 2)
                        .sum();
                List<String> lines = wrapped(row.get(columns - 1), Math.max(WIDTH - indent, 30));
                List<String> first = new ArrayList<>(row.subList(0, columns - 1));
                first.add(lines.get(0));
                System.out.println(row(first, widths, true));
                lines.subList(1, lines.size()).forEach(line -> System.out.println(" ".repeat(indent) + line));
            } else {
                System.out.println(row(row, widths, false));
            }
        }
    }

    /** Text in lines of at most so many characters, broken at spaces. */
    static List<String> wrapped(String text, int width) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split(" ", -1)) {
            if (line.length() > 0 && line.length() + 1 + word.length() > width) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.length() > 0 ? " " : "").append(word);
        }
        lines.add(line.toString());
        return lines;
    }

    private static String row(List<String> cells, int[] widths, boolean textAtEnd) {
        StringBuilder line = new StringBuilder();
        for (int c = 0; c < cells.size(); c++) {
            String cell = cells.get(c);
            String fill = " ".repeat(Math.max(0, widths[c] - cell.length()));
            boolean left = c == 0 || textAtEnd && c == cells.size() - 1;
            line.append(c == 0 ? "" : "  ").append(left ? cell + fill : fill + cell);
        }
        return line.toString().stripTrailing();
    }

    /** An argument as a shell takes it. */
    static String quoted(String argument) {
        return argument.matches("[A-Za-z0-9_./:=,@%+~-]+") ? argument : "'" + argument.replace("'", "'\\''") + "'";
    }

    /** Nanoseconds for people. */
    static String time(double nanos) {
        return timeIn(nanos).apply(nanos);
    }

    /** Nanoseconds for people in the unit of the largest of a column. */
    static DoubleFunction<String> timeIn(double largestNanos) {
        if (largestNanos < 1e6) {
            return nanos -> String.format(Locale.ROOT, "%.1f us", nanos / 1e3);
        }
        return largestNanos < 1e10
                ? nanos -> String.format(Locale.ROOT, "%.2f ms", nanos / 1e6)
                : nanos -> String.format(Locale.ROOT, "%.2f s", nanos / 1e9);
    }
}

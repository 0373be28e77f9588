package dev.drover.solver;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes problems and answers as JSON, streaming; names that end in {@code .gz} are compressed.
 *
 * <pre>
 *   {"problem": {"name": "A",
 *                "nodes": {"intervals": [[lo, hi], ..], "costs": [[..], ..], "usages": [[..], ..]},
 *                "edges": {"nodes": [[i, j], ..], "costs": [[row-major], ..]},
 *                "usage_limit": L}}
 * </pre>
 *
 * The members may come in any order; a member that is not of the format is an error. Source: the rules of the
 * ASPLOS/EuroSys 2025 contest on intra-operator parallelism.
 */
public final class ContestFile {
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private final String source;
    private final Deadline deadline;
    private final Map<StrategyProblem.Row, long[]> interned = new HashMap<>();
    private long[] scratch = new long[1024];
    private final ContestRows found = new ContestRows();

    private ContestFile(String source, Deadline deadline) {
        this.source = source;
        this.deadline = deadline;
    }

    /** Carries the end of the time through the streams. */
    private static final class TooLate extends IOException {
        private static final long serialVersionUID = 1;
    }

    /** The end of the time for reading. */
    static final class Deadline {
        private final long endNanos;

        private Deadline(long timeoutNanos) {
            this.endNanos = System.nanoTime() + timeoutNanos;
        }

        private static Deadline none() {
            return new Deadline(Long.MAX_VALUE / 2);
        }

        /** Fails when the time is over or the thread interrupted. */
        void check() throws IOException {
            if (System.nanoTime() - endNanos >= 0 || Thread.currentThread().isInterrupted()) {
                throw new TooLate();
            }
        }
    }

    /**
     * Reads a problem.
     *
     * @param path a JSON file, compressed if its name ends in {@code .gz}
     * @return the problem
     * @throws SolverInputException if the content is no problem: one message with line and column
     * @throws IOException if the file cannot be read
     */
    public static StrategyProblem read(Path path) throws IOException {
        return read(path, Deadline.none());
    }

    /**
     * Reads a problem in a limited time.
     *
     * @param path a JSON file, compressed if its name ends in {@code .gz}
     * @param timeoutNanos wall-clock time that the reading may take
     * @return the problem
     * @throws SolverInputException if the content is no problem: one message with line and column
     * @throws IOException if the file cannot be read
     * @throws TimeoutException if the time ends before the file does, or the thread is interrupted
     */
    public static StrategyProblem readWithin(Path path, long timeoutNanos) throws IOException, TimeoutException {
        try {
            return read(path, new Deadline(timeoutNanos));
        } catch (TooLate | ClosedByInterruptException e) {
            throw new TimeoutException("The file (" + path + ") could not be read in the time ("
                    + Math.round(Math.max(0, timeoutNanos) / 1e7) / 100.0 + " s).");
        }
    }

    private static StrategyProblem read(Path path, Deadline deadline) throws IOException {
        try {
            try (InputStream in = opened(path)) {
                return ContestScanner.read(in, deadline).problem(path.toString());
            } catch (ContestScanner.Unusual e) {
                try (InputStream in = opened(path)) {
                    return new ContestFile(path.toString(), deadline).parse(in);
                }
            }
        } catch (SolverInputException e) {
            requireWhole(path, deadline);
            throw e;
        } catch (ZipException e) {
            throw damaged(path, e);
        } catch (NoSuchFileException e) {
            throw new SolverInputException(
                    "The problem file (" + path + ") must exist.\nMaybe the path is relative to another folder.");
        } catch (EOFException e) {
            throw cutShort(path);
        }
    }

    /** Reads a compressed file to its end, where its checksum is: a mistake may come from a damage. */
    private static void requireWhole(Path path, Deadline deadline) throws IOException {
        if (!path.toString().endsWith(".gz")) {
            return;
        }
        try (InputStream in = opened(path)) {
            byte[] buffer = new byte[1 << 16];
            while (in.read(buffer) >= 0) {
                deadline.check();
            }
        } catch (ZipException e) {
            throw damaged(path, e);
        } catch (EOFException e) {
            throw cutShort(path);
        }
    }

    private static SolverInputException damaged(Path path, ZipException e) {
        return new SolverInputException("The compressed data of file (" + path + ") must be valid gzip: "
                + e.getMessage() + ".\nMaybe the file is not compressed or damaged.");
    }

    private static SolverInputException cutShort(Path path) {
        return new SolverInputException(
                "The compressed data of file (" + path + ") must be complete.\nMaybe the file was cut short.");
    }

    private static InputStream opened(Path path) throws IOException {
        InputStream raw = new BufferedInputStream(Files.newInputStream(path), 1 << 16);
        try {
            boolean compressed = path.toString().endsWith(".gz");
            if (!compressed && startsAsGzip(raw)) {
                throw new SolverInputException("The file (" + path
                        + ") must be plain JSON, but is compressed.\nMaybe give it a name that ends in .gz.");
            }
            return compressed ? new GZIPInputStream(raw, 1 << 16) : raw;
        } catch (IOException | RuntimeException e) {
            raw.close();
            throw e;
        }
    }

    private static boolean startsAsGzip(InputStream in) throws IOException {
        in.mark(2);
        int magic = in.read() | in.read() << 8;
        in.reset();
        return magic == GZIPInputStream.GZIP_MAGIC;
    }

    /**
     * Reads a problem from a stream of plain JSON.
     *
     * @param in the JSON
     * @param source what to call it in messages
     * @return the problem
     * @throws SolverInputException if the content is no problem: one message with line and column
     * @throws IOException if the stream cannot be read
     */
    public static StrategyProblem read(InputStream in, String source) throws IOException {
        return new ContestFile(source, Deadline.none()).parse(in);
    }

    private StrategyProblem parse(InputStream in) throws IOException {
        try (JsonParser parser = JSON.createParser(in)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw new SolverInputException("The file (" + source
                        + ") must hold a problem, but is empty.\nMaybe it was not written to its end.");
            }
            expect(parser, first, JsonToken.START_OBJECT, "the root");
            boolean seen = false;
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                String key = parser.currentName();
                if (!"problem".equals(key)) {
                    throw unknown(parser, key, "the whole", "problem");
                }
                parser.nextToken();
                parseProblem(parser);
                seen = true;
            }
            if (!seen) {
                throw new SolverInputException("The file (" + source
                        + ") must have a member \"problem\".\nMaybe it is a file of another kind.");
            }
            if (parser.nextToken() != null) {
                throw at("The problem", parser, " must be the last thing", "Maybe two files were joined.");
            }
        } catch (JsonProcessingException e) {
            throw JsonMistake.told(source, e);
        }
        return found.problem(source);
    }

    private void parseProblem(JsonParser parser) throws IOException {
        expect(parser, parser.currentToken(), JsonToken.START_OBJECT, "\"problem\"");
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String key = parser.currentName();
            JsonToken token = parser.nextToken();
            switch (key) {
                case "name" -> {
                    expect(parser, token, JsonToken.VALUE_STRING, "\"name\"");
                    found.name = parser.getText();
                }
                case "usage_limit" -> {
                    if (token != JsonToken.VALUE_NULL) {
                        found.usageLimit = integer(parser, token);
                    }
                }
                case "nodes" -> {
                    expect(parser, token, JsonToken.START_OBJECT, "\"nodes\"");
                    while (parser.nextToken() != JsonToken.END_OBJECT) {
                        String member = parser.currentName();
                        parser.nextToken();
                        switch (member) {
                            case "intervals" -> found.intervals = rows(parser);
                            case "costs" -> found.nodeCosts = rows(parser);
                            case "usages" -> found.nodeUsages = rows(parser);
                            default -> throw unknown(parser, member, "member \"nodes\"", "intervals, costs, usages");
                        }
                    }
                }
                case "edges" -> {
                    expect(parser, token, JsonToken.START_OBJECT, "\"edges\"");
                    while (parser.nextToken() != JsonToken.END_OBJECT) {
                        String member = parser.currentName();
                        parser.nextToken();
                        switch (member) {
                            case "nodes" -> found.edgeNodes = rows(parser);
                            case "costs" -> found.edgeCosts = rows(parser);
                            default -> throw unknown(parser, member, "member \"edges\"", "nodes, costs");
                        }
                    }
                }
                default -> throw unknown(parser, key, "member \"problem\"", "name, nodes, edges, usage_limit");
            }
        }
    }

    /** Reads an array of arrays of integers; equal rows are stored once. */
    private List<long[]> rows(JsonParser parser) throws IOException {
        List<long[]> rows = new ArrayList<>();
        expect(parser, parser.currentToken(), JsonToken.START_ARRAY, "\"" + parser.currentName() + "\"");
        for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
            expect(parser, token, JsonToken.START_ARRAY, "row " + rows.size());
            if ((rows.size() & 63) == 0) {
                deadline.check();
            }
            int count = 0;
            for (JsonToken t = parser.nextToken(); t != JsonToken.END_ARRAY; t = parser.nextToken()) {
                if (count == scratch.length) {
                    scratch = Arrays.copyOf(scratch, 2 * count);
                }
                scratch[count++] = integer(parser, t);
            }
            long[] row = Arrays.copyOf(scratch, count);
            long[] known = interned.putIfAbsent(new StrategyProblem.Row(row), row);
            rows.add(known == null ? row : known);
        }
        return rows;
    }

    /** Reads a whole number, also one written like 1e18 or 5.0; one beyond 64 bits forbids, as every value from 10^18 does. */
    private long integer(JsonParser parser, @Nullable JsonToken token) throws IOException {
        if (token == JsonToken.VALUE_NUMBER_INT && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
            return parser.getLongValue();
        }
        if (token != null && token.isNumeric()) {
            BigDecimal value = new BigDecimal(parser.getText()).stripTrailingZeros();
            if (value.signum() == 0) {
                return 0;
            }
            if (value.scale() <= 0) {
                // The digits are counted, not written: an exponent may be of any size.
                boolean small = (long) value.precision() - value.scale() <= 18;
                if (small || value.signum() > 0) {
                    return small ? value.longValueExact() : beyond(value);
                }
                throw at(
                        "The number (" + parser.getText() + ")",
                        parser,
                        " must not be negative",
                        "Maybe it overflowed.");
            }
        }
        throw at(
                "The value (" + shown(parser, token) + ")",
                parser,
                " must be an integer",
                token == JsonToken.VALUE_STRING
                        ? "Maybe take off the quotes."
                        : "Maybe the file was written by another program.");
    }

    private static long beyond(BigDecimal value) {
        return value.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) < 0 ? value.longValueExact() : Long.MAX_VALUE;
    }

    private static String shown(JsonParser parser, @Nullable JsonToken token) throws IOException {
        if (token == null) {
            return "end of file";
        }
        return switch (token) {
            case START_OBJECT, START_ARRAY -> called(token);
            case VALUE_STRING -> "\"" + parser.getText() + "\"";
            default -> parser.getText();
        };
    }

    private void expect(JsonParser parser, @Nullable JsonToken token, JsonToken expected, String what) {
        if (token != expected) {
            throw at(
                    "The value of " + what,
                    parser,
                    " must be " + called(expected) + ", not " + (token == null ? "the end of the file" : called(token)),
                    token == null ? "Maybe the file was cut short." : "Maybe it is a file of another kind.");
        }
    }

    private static String called(JsonToken token) {
        return switch (token) {
            case START_OBJECT -> "an object";
            case START_ARRAY -> "a list";
            case VALUE_STRING -> "a text";
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
            case VALUE_TRUE, VALUE_FALSE -> "true or false";
            case VALUE_NULL -> "null";
            default -> "(" + token.asString() + ")";
        };
    }

    private SolverInputException unknown(JsonParser parser, String key, String where, String known) {
        return at(
                "The member (" + key + ") of " + where, parser, " must be one of: " + known, "Maybe it is misspelled.");
    }

    /** A mistake of a thing of the file where the parser is. */
    private SolverInputException at(String thing, JsonParser parser, String must, String maybe) {
        JsonLocation where = parser.currentTokenLocation();
        return new SolverInputException(thing + " in file (" + source + ")" + must + ", at line " + where.getLineNr()
                + ", column " + where.getColumnNr() + ".\n" + maybe);
    }

    /**
     * Writes a problem so that reading it gives an equal one.
     *
     * @param problem the problem
     * @param path the file; compressed if its name ends in {@code .gz}
     * @throws IOException if it cannot be written
     */
    public static void write(StrategyProblem problem, Path path) throws IOException {
        try (OutputStream raw = Files.newOutputStream(path);
                OutputStream out = path.toString().endsWith(".gz") ? new GZIPOutputStream(raw, 1 << 16) : raw;
                JsonGenerator json = JSON.createGenerator(out)) {
            json.writeStartObject();
            json.writeObjectFieldStart("problem");
            json.writeStringField("name", problem.name());
            json.writeObjectFieldStart("nodes");
            json.writeArrayFieldStart("intervals");
            for (int i = 0; i < problem.nodeCount(); i++) {
                json.writeArray(new long[] {problem.intervalStart(i), problem.intervalEnd(i)}, 0, 2);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("costs");
            for (int i = 0; i < problem.nodeCount(); i++) {
                json.writeStartArray();
                for (int k = 0; k < problem.strategyCount(i); k++) {
                    json.writeNumber(problem.cost(i, k));
                }
                json.writeEndArray();
            }
            json.writeEndArray();
            json.writeArrayFieldStart("usages");
            for (int i = 0; i < problem.nodeCount(); i++) {
                json.writeStartArray();
                for (int k = 0; k < problem.strategyCount(i); k++) {
                    json.writeNumber(problem.usage(i, k));
                }
                json.writeEndArray();
            }
            json.writeEndArray();
            json.writeEndObject();
            json.writeObjectFieldStart("edges");
            json.writeArrayFieldStart("nodes");
            for (int e = 0; e < problem.edgeCount(); e++) {
                json.writeArray(new int[] {problem.edgeFrom(e), problem.edgeTo(e)}, 0, 2);
            }
            json.writeEndArray();
            json.writeArrayFieldStart("costs");
            for (int e = 0; e < problem.edgeCount(); e++) {
                long[] matrix = problem.matrix(problem.matrixNumber(e));
                json.writeArray(matrix, 0, matrix.length);
            }
            json.writeEndArray();
            json.writeEndObject();
            if (problem.usageLimit() != StrategyProblem.UNLIMITED) {
                json.writeNumberField("usage_limit", problem.usageLimit());
            }
            json.writeEndObject();
            json.writeEndObject();
        }
    }

    /**
     * Writes an answer as the one JSON object that {@code drover solve --json} prints: status, objective, lowerBound, gap, peakUsage,
     * usageLimit, choices, seconds, memoryEnded, explanation, improvements. Numbers that do not exist are null; an explanation is only
     * there without a choice.
     *
     * @param solution the answer
     * @param out where to write; flushed, not closed
     * @throws IOException if it cannot be written
     */
    public static void writeSolution(Solution solution, OutputStream out) throws IOException {
        boolean found = solution.hasChoices();
        try (JsonGenerator json = JSON.createGenerator(out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)) {
            json.writeStartObject();
            json.writeStringField("status", solution.status().name());
            number(json, "objective", found ? solution.objective() : null);
            number(json, "lowerBound", solution.status() == Solution.Status.INFEASIBLE ? null : solution.lowerBound());
            if (found) {
                json.writeNumberField("gap", solution.gap());
            } else {
                json.writeNullField("gap");
            }
            number(json, "peakUsage", found ? solution.peakUsage() : null);
            long limit = solution.usageLimit();
            number(json, "usageLimit", limit == StrategyProblem.UNLIMITED ? null : limit);
            json.writeArrayFieldStart("choices");
            for (int choice : solution.choices()) {
                json.writeNumber(choice);
            }
            json.writeEndArray();
            json.writeNumberField("seconds", solution.seconds());
            json.writeBooleanField("memoryEnded", solution.memoryEnded());
            if (!solution.explanation().isEmpty()) {
                json.writeStringField("explanation", solution.explanation());
            }
            json.writeArrayFieldStart("improvements");
            for (Improvement step : solution.improvements()) {
                json.writeStartObject();
                json.writeNumberField("seconds", step.seconds());
                number(json, "objective", step.objective() == Long.MAX_VALUE ? null : step.objective());
                json.writeNumberField("lowerBound", step.lowerBound());
                json.writeStringField("phase", step.phase());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        out.flush();
    }

    private static void number(JsonGenerator json, String key, @Nullable Long value) throws IOException {
        if (value == null) {
            json.writeNullField(key);
        } else {
            json.writeNumberField(key, value);
        }
    }
}

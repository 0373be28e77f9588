package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file is read as a stream is, which never goes through the scanner: the same problem or the same message. */
class ContestScannerTest {
    private static final String SMALL = """
            {"problem": {"name": "s", "nodes": {"intervals": [[0,2], [1,3]],"costs":[[0,5],[1000000000000000000 ,7]],
             "usages": [[8,4],[8,4]]}, "edges": {"nodes": [[0,1]],"costs": [[0,3,3,10]]}, "usage_limit": 12}}
            """;

    @TempDir
    Path folder;

    private String outcome(byte[] text) throws IOException {
        Path file = Files.write(folder.resolve("p.json"), text);
        return told(() -> ContestFile.read(file));
    }

    private String outcomeOfStream(byte[] text) {
        String source = folder.resolve("p.json").toString();
        return told(() -> ContestFile.read(new ByteArrayInputStream(text), source));
    }

    private interface Reading {
        StrategyProblem read() throws IOException;
    }

    private static String told(Reading reading) {
        try {
            return text(reading.read());
        } catch (IOException | SolverInputException e) {
            return e.toString();
        }
    }

    private static String text(StrategyProblem problem) {
        StringBuilder text = new StringBuilder(problem.name() + " " + problem.usageLimit());
        for (int i = 0; i < problem.nodeCount(); i++) {
            text.append("\n").append(problem.intervalStart(i)).append(" ").append(problem.intervalEnd(i));
            for (int k = 0; k < problem.strategyCount(i); k++) {
                text.append(" ").append(problem.cost(i, k)).append("/").append(problem.usage(i, k));
            }
        }
        for (int e = 0; e < problem.edgeCount(); e++) {
            text.append("\n").append(problem.edgeFrom(e)).append("-").append(problem.edgeTo(e));
            for (long cost : problem.matrix(problem.matrixNumber(e))) {
                text.append(" ").append(cost);
            }
        }
        return text.toString();
    }

    private void assertSame(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        assertThat(outcome(bytes)).as(text).isEqualTo(outcomeOfStream(bytes));
    }

    @Test
    void everyBeginningOfAFile() throws IOException {
        for (int end = 0; end <= SMALL.length(); end++) {
            assertSame(SMALL.substring(0, end));
        }
    }

    @Test
    void everyByteOfAFileLeftOutOrReplaced() throws IOException {
        for (int at = 0; at < SMALL.length(); at++) {
            String before = SMALL.substring(0, at);
            String after = SMALL.substring(at + 1);
            assertSame(before + after);
            for (String other :
                    List.of("0", "9", "-", ",", ":", "[", "]", "{", "}", "\"", " ", "\\", ".", "e", "n", "\u00e9")) {
                assertSame(before + other + after);
            }
        }
    }

    @Test
    void oddNumbersNamesAndMembers() throws IOException {
        for (String number : List.of(
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
                "18446744073709551617",
                "99999999999999999999999",
                "999999999999999999",
                "1000000000000000001",
                "00",
                "-0",
                "1.0",
                "1e3",
                "null",
                "NaN",
                "\"1\"",
                "")) {
            assertSame(SMALL.replace("10]]}, \"usage", number + "]]}, \"usage"));
            assertSame(SMALL.replace(": 12", ": " + number));
        }
        assertSame(SMALL.replace("\"s\"", "\"a\\u0041\\n\""));
        assertSame(SMALL.replace("\"s\"", "\"\u00e4\""));
        assertSame(SMALL.replace("\"name\": \"s\",", "\"name\": \"s\", \"name\": \"t\","));
        assertSame(SMALL.replace(", \"usage_limit\": 12", ""));
        assertSame(SMALL.replace("\"edges\"", "\"edge\""));
        assertSame(SMALL.replace("\"usages\": [[8,4],[8,4]]", "\"usages\": []"));
        assertSame(SMALL.replace("\"usages\": [[8,4],[8,4]]", "\"usages\": [[8,4],[]]"));
        assertSame(SMALL + SMALL);
        assertSame("\ufeff" + SMALL);
    }

    /** Rows that repeat in and out of order, longer than the buffer and across its ends, with and without spaces. */
    @Test
    void largeFilesWithRepeatedRows() throws IOException {
        for (int seed = 0; seed < 12; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int strategies = seed == 0 ? 400 : 2 + random.nextInt(12);
            String gap = random.nextBoolean() ? "" : " ";
            List<String> different = new ArrayList<>();
            for (int m = 0; m < 9; m++) {
                different.add(row(random, strategies * strategies, gap));
            }
            int nodes = seed == 0 ? 12 : 2000;
            StringBuilder ends = new StringBuilder();
            StringBuilder costs = new StringBuilder();
            StringBuilder intervals = new StringBuilder();
            StringBuilder matrices = new StringBuilder();
            for (int i = 0; i < nodes; i++) {
                String comma = i == 0 ? "" : "," + gap;
                intervals
                        .append(comma)
                        .append("[")
                        .append(i)
                        .append(",")
                        .append(i + 5)
                        .append("]");
                costs.append(comma).append(row(random, strategies, gap));
                if (i > 0) {
                    String more = i == 1 ? "" : "," + gap;
                    ends.append(more)
                            .append("[")
                            .append(i - 1)
                            .append(",")
                            .append(i)
                            .append("]");
                    int number = random.nextInt(8) == 0 ? random.nextInt(9) : i % 9;
                    matrices.append(more).append(different.get(number));
                }
            }
            String text =
                    "{\"problem\":{\"nodes\":{\"costs\":[" + costs + "],\"usages\":[" + costs + "],\"intervals\":["
                            + intervals + "]},\"edges\":{\"costs\":[" + matrices + "],\"nodes\":[" + ends + "]}}}";
            assertSame(text);
            assertSame(text.substring(0, text.length() - 1 - random.nextInt(text.length() / 2)));
        }
    }

    private static String row(SplittableRandom random, int count, String gap) {
        StringBuilder row = new StringBuilder("[");
        for (int i = 0; i < count; i++) {
            row.append(i == 0 ? "" : "," + gap).append(random.nextLong(1L << random.nextInt(1, 62)));
        }
        return row.append("]").toString();
    }
}

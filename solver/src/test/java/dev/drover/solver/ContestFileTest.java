package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContestFileTest {
    private static final String SMALL = """
            {"problem": {"name": "s",
             "edges": {"nodes": [[0, 1]], "costs": [[0, 3, 3, 1000000000000000000000]]},
             "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[0, 5], [0, 7]], "usages": [[8, 4], [8, 4]]},
             "usage_limit": 12}}""";

    private static StrategyProblem read(String json) throws IOException {
        return ContestFile.read(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)), "test");
    }

    @Test
    void membersMayComeInAnyOrder() throws IOException {
        StrategyProblem problem = read(SMALL);
        assertThat(problem.nodeCount()).isEqualTo(2);
        assertThat(problem.usageLimit()).isEqualTo(12);
        assertThat(problem.edgeCost(0, 0, 1)).isEqualTo(3);
        assertThat(problem.edgeCost(0, 1, 1)).isGreaterThanOrEqualTo(StrategyProblem.FORBIDDEN);
    }

    @Test
    void writtenProblemsReadBackTheSame(@TempDir Path folder) throws IOException {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(20); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            Path first = folder.resolve("a" + seed + ".json");
            Path zipped = folder.resolve("b" + seed + ".json.gz");
            ContestFile.write(problem, first);
            ContestFile.write(ContestFile.read(first), zipped);
            Path again = folder.resolve("c" + seed + ".json");
            ContestFile.write(ContestFile.read(zipped), again);
            assertThat(again).as("seed " + seed).hasSameTextualContentAs(first);
        }
    }

    @Test
    void everyTruncationGivesOneMessage() {
        for (int length = 0; length < SMALL.length(); length++) {
            String cut = SMALL.substring(0, length);
            assertThatThrownBy(() -> read(cut))
                    .as(cut)
                    .isInstanceOf(SolverInputException.class)
                    .hasMessageContaining("must")
                    .hasMessageContaining("Maybe");
        }
    }

    @Test
    void garbledFilesAreRefusedWithPosition() {
        assertThatThrownBy(() -> read(SMALL.replace("[0, 5]", "[0, x]")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("at line 3, column");
        for (String none : List.of("NaN", "Infinity", "-Infinity")) {
            assertThatThrownBy(() -> read(SMALL.replace("[0, 5]", "[0, " + none + "]")))
                    .isInstanceOf(SolverInputException.class)
                    .hasMessageContaining("must be valid JSON: " + none + " is no number at line 3");
        }
        assertThatThrownBy(() -> read("[1, 2]"))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("must be an object, not a list")
                .hasMessageContaining("another kind");
        for (String interval : List.of("[2, 0]", "[-1, 2]")) {
            assertThatThrownBy(() -> read(SMALL.replace("[0, 2]", interval)))
                    .isInstanceOf(SolverInputException.class)
                    .hasMessageContaining("The interval (0) must be [start, end)");
        }
        assertThatThrownBy(() -> read(SMALL.replace("[0, 5]", "[0, 5.5]")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("The value (5.5) in file (test) must be an integer, at line 3, column");
        assertThatThrownBy(() -> read(SMALL.replace("usages", "usage")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining(
                        "of member \"nodes\" in file (test) must be one of: intervals, costs, usages, at line 3");
        assertThatThrownBy(() -> read(SMALL.replace("[0, 3, 3, ", "[0, 3, ")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("The cost count (3) of edge (0) must be 2 x 2 = 4");
        assertThatThrownBy(() -> read(SMALL.replace("[[0, 1]]", "[[0, 9]]")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("The node (9) of edge (0)");
        assertThatThrownBy(() -> read(SMALL.replace("[[0, 1]]", "[[0, 9999999999]]")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("The node (9999999999) of edge (0)");
        assertThatThrownBy(() -> read(SMALL.replace("[0, 5]", "[0, -5]")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("must not be negative");
    }

    @Test
    void aDamagedCompressedFileIsRefused(@TempDir Path folder) throws IOException {
        Path good = folder.resolve("p.json.gz");
        ContestFile.write(RandomProblems.problem(3), good);
        byte[] bytes = Files.readAllBytes(good);
        Path cut = folder.resolve("cut.json.gz");
        Files.write(cut, Arrays.copyOf(bytes, bytes.length / 2));
        assertThatThrownBy(() -> ContestFile.read(cut))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("Maybe");
        Path plain = folder.resolve("plain.json.gz");
        Files.writeString(plain, SMALL);
        assertThatThrownBy(() -> ContestFile.read(plain)).isInstanceOf(SolverInputException.class);
        Path renamed = folder.resolve("compressed.json");
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(renamed))) {
            out.write(SMALL.getBytes(StandardCharsets.UTF_8));
        }
        assertThatThrownBy(() -> ContestFile.read(renamed)).hasMessageContaining("a name that ends in .gz");
        assertThatThrownBy(() -> ContestFile.read(folder.resolve("absent.json")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("must exist");
    }

    @Test
    void answersAreWrittenAsOneObject() throws IOException {
        Solution solution = StrategySolver.solve(read(SMALL), SolveOptions.ofSeconds(1), ProgressListener.SILENT);
        assertThat(solution.choices()).isEqualTo(List.of(1, 0));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ContestFile.writeSolution(solution, out);
        assertThat(out.toString(StandardCharsets.UTF_8))
                .startsWith("{\"status\":\"OPTIMAL\",\"objective\":8,\"lowerBound\":8,\"gap\":0.0,\"peakUsage\":12,"
                        + "\"usageLimit\":12,")
                .contains("\"choices\":[1,0],\"seconds\":", "\"memoryEnded\":false,\"improvements\":[{\"seconds\":")
                .doesNotContain("explanation")
                .endsWith("}]}");
        Solution none = StrategySolver.solve(
                read(SMALL.replace("12}", "7}")), SolveOptions.ofSeconds(1), ProgressListener.SILENT);
        out.reset();
        ContestFile.writeSolution(none, out);
        assertThat(out.toString(StandardCharsets.UTF_8))
                .startsWith(
                        "{\"status\":\"INFEASIBLE\",\"objective\":null,\"lowerBound\":null,\"gap\":null,\"peakUsage\":null,")
                .contains("\"explanation\":\"Every choice ");
    }

    @Test
    void numbersMayBeWrittenInEachWayThatIsWhole() throws IOException {
        for (String five : List.of("5.0", "5e0", "0.5E1", "50e-1", "5.000")) {
            assertThat(read(SMALL.replace("[0, 5]", "[0, " + five + "]")).cost(0, 1))
                    .as(five)
                    .isEqualTo(5);
        }
        for (String forbidden : List.of("1e18", "1E400", "1e999999999", "1.0e18", "9223372036854775808", "123e17")) {
            assertThat(read(SMALL.replace("[0, 5]", "[0, " + forbidden + "]")).cost(0, 1))
                    .as(forbidden)
                    .isGreaterThanOrEqualTo(StrategyProblem.FORBIDDEN);
        }
        for (String zero : List.of("0.0", "-0", "0e99", "-0.0")) {
            assertThat(read(SMALL.replace("[0, 5]", "[0, " + zero + "]")).cost(0, 1))
                    .as(zero)
                    .isZero();
        }
    }

    /** No mistake is told in words of the JSON library, each with the file and advice. */
    @Test
    void mistakesAreToldInWordsOfTheirOwn() {
        for (String[] mistake : new String[][] {
            {"[0, 5]", "[0, +5]", "the character (+) must not come here at line 3"},
            {"[0, 5]", "[0, 05]", "Leading zeroes not allowed at line 3"},
            {"[0, 5]", "[0, 1" + "0".repeat(2000) + "]", "a number of 2001 characters is too long"},
            {"[0, 5]", "[0, \"5\"]", "The value (\"5\") in file (test) must be an integer"},
            {"[0, 5]", "[0, [5]]", "The value (a list) in file (test) must be an integer"},
            {"[0, 5]", "[0, -1e40]", "The number (-1e40) in file (test) must not be negative"},
            {"[0, 5]", "[0, /* five */ 5]", "comments are no part of it at line 3"},
            {"\"usage_limit\"", "\"usage_limit\": 3, \"usage_limit\"", "the member (usage_limit) comes twice"},
            {"[0, 2]", "[0, 2, 3]", "Maybe there is a number too many"},
            {"[0, 2]", "[0]", "Maybe an end is missing"},
            {"[[0, 1]]", "[[0, 7]]", "The node (7) of edge (0)"}
        }) {
            assertThatThrownBy(() -> read(SMALL.replace(mistake[0], mistake[1])))
                    .as(mistake[1])
                    .isInstanceOf(SolverInputException.class)
                    .hasMessageContaining("ile (test)")
                    .hasMessageContaining("\nMaybe ")
                    .hasMessageContaining(mistake[2])
                    .message()
                    .doesNotContain("Feature", "Source", "StreamRead", "code ");
        }
        assertThatThrownBy(() -> read("")).hasMessageContaining("The file (test) must hold a problem, but is empty.");
        assertThatThrownBy(() -> read(" \n")).hasMessageContaining("but is empty.");
        assertThatThrownBy(() -> read(SMALL.substring(0, 100)))
                .hasMessageContaining("it ends in the middle of a list, an object or a value at line 2");
    }

    @Test
    void aFlippedByteOfACompressedFileIsToldAsDamage(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("p.json.gz");
        ContestFile.write(RandomProblems.problem(3), file);
        byte[] good = Files.readAllBytes(file);
        for (int at = 10; at < good.length; at++) {
            byte[] bytes = good.clone();
            bytes[at] ^= 4;
            Files.write(file, bytes);
            try {
                // The last bits before the checksum mean nothing.
                ContestFile.write(ContestFile.read(file), file);
                assertThat(file).as("byte %d", at).hasBinaryContent(good);
            } catch (SolverInputException e) {
                assertThat(e).hasMessageContaining("compressed data").hasMessageContaining("Maybe");
            }
        }
    }
}

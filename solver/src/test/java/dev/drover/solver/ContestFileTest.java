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
                .hasMessageContaining("The value (5.5) must be an integer, at line 3, column");
        assertThatThrownBy(() -> read(SMALL.replace("usages", "usage")))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("must be one of: intervals, costs, usages, at line 3");
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
                .endsWith("\"choices\":[1,0]}");
    }
}

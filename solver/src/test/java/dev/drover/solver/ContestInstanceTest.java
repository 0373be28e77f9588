package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The contest's instances, where they are present; short limits, so only far bounds are asserted. */
class ContestInstanceTest {
    private static StrategyProblem instance(String name) throws IOException {
        String file = "corpus/iopddl/asplos-2025-iopddl-" + name + ".json.gz";
        for (Path folder = Path.of("").toAbsolutePath(); folder != null; folder = folder.getParent()) {
            Path found = folder.resolve("shared").resolve(file);
            if (Files.exists(found)) {
                return ContestFile.read(found);
            }
        }
        assumeTrue(false, "shared/" + file + " is not present, skipped");
        throw new AssertionError("skipped");
    }

    @Test
    void instanceAIsReducedFromTensOfThousandsOfNodesToHundreds() throws IOException {
        StrategyProblem problem = instance("A");
        Core core = Reducer.reduce(problem, Set.of()).core();
        assertThat(problem.nodeCount()).isEqualTo(34_932);
        assertThat(core).isNotNull();
        if (core != null) {
            assertThat(core.size).isLessThan(300);
        }
    }

    @Test
    void instanceGIsSolvedWell() throws IOException {
        StrategyProblem problem = instance("G");
        Solution solution = StrategySolver.solve(
                problem, SolveOptions.ofSeconds(60).withWorkLimit(600_000_000), ProgressListener.SILENT);
        assertThat(solution.hasChoices()).isTrue();
        assertThat(solution.objective()).isBetween(217_039L, 300_000L);
        assertThat(solution.lowerBound()).isBetween(100_000L, 217_039L);
        assertThat(solution.peakUsage()).isLessThanOrEqualTo(problem.usageLimit());
    }
}

package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import dev.drover.solver.SolveOptions.Technique;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NarrowLayersTest {
    @ParameterizedTest
    @ValueSource(longs = {2, 3, 5, 7, 8})
    void limitsOfLayersAreProvenAndCutsLoseNothing(long seed) {
        StrategyProblem problem = NarrowLayers.problem(seed);
        Solution solution = StrategySolver.solve(problem, SolveOptions.ofSeconds(30), ProgressListener.SILENT);
        System.out.printf(
                "seed %d: %s %d, %.2f s%n", seed, solution.status(), solution.objective(), solution.seconds());
        assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
        SolveOptions otherwise = SolveOptions.ofSeconds(1).leavingOut(Set.of(Technique.CUTS));
        Solution other = StrategySolver.solve(problem, otherwise, ProgressListener.SILENT);
        assertThat(solution.objective()).isBetween(other.lowerBound(), other.objective());
    }
}

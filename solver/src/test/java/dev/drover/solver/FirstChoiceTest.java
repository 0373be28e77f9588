package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.SolveOptions.Technique;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FirstChoiceTest {
    @Test
    void whatIsFoundFitsAndNearlyEveryPossibleProblemHasOne() {
        int possible = 0;
        int found = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(400); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            Core core = Reducer.reduce(problem, Set.of(Technique.DOMINANCE, Technique.CONDENSE))
                    .core();
            if (core == null) {
                continue;
            }
            boolean isPossible = RandomProblems.best(problem) != null;
            int[] x = FirstChoice.find(core, Budget.endless());
            if (x != null) {
                assertThat(isPossible).as("seed %d", seed).isTrue();
                Evaluator.Evaluation score = Evaluator.evaluate(problem, core.expand(x));
                assertThat(score.feasible()).as("seed %d", seed).isTrue();
                found++;
            }
            possible += isPossible ? 1 : 0;
        }
        assertThat(found).isGreaterThan(possible * 95 / 100).isGreaterThan(100);
    }

    @Test
    void aLimitThatLeavesOnlyTheLeastUseIsMet() {
        StrategyProblem problem = LayeredProblemTest.layers(72, 72 * 2 * 8 + 100);
        Core core = Reducer.reduce(problem, Set.of()).core();
        assertThat(core).isNotNull();
        if (core != null) {
            int[] x = FirstChoice.find(core, Budget.endless());
            assertThat(x).isNotNull();
        }
    }

    @Test
    void anEndedClockStillGetsAChoice() {
        Solution solution = StrategySolver.solve(
                LayeredProblemTest.layers(72, 72 * 3 * 20), SolveOptions.ofSeconds(1e-6), ProgressListener.SILENT);
        assertThat(solution.hasChoices()).isTrue();
    }
}

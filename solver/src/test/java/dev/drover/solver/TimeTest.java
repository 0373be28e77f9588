package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.solver.Solution.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every part looks at the clock; here each look takes a millisecond. */
class TimeTest {
    private static final long MILLI = 1_000_000;

    @TempDir
    Path folder;

    @Test
    void everyPartEndsInTimeWithAChoice() {
        StrategyProblem problem = LayeredProblemTest.layers(72, 72 * 3 * 20);
        for (long millis : new long[] {1, 10, 100, 300, 1000, 1300, 2000, 3000, 5000, 20_000}) {
            AtomicLong looks = new AtomicLong();
            Solution solution = StrategySolver.solve(
                    problem,
                    SolveOptions.ofSeconds(millis / 1e3).withThreads(1),
                    ProgressListener.SILENT,
                    () -> looks.incrementAndGet() * MILLI);
            assertThat(solution.hasChoices()).as("%d ms", millis).isTrue();
            assertThat(Evaluator.evaluate(problem, solution.choices()).feasible())
                    .as("%d ms", millis)
                    .isTrue();
            assertThat(looks.get()).as("looks at the clock of %d", millis).isLessThan(millis + 60);
        }
    }

    @Test
    void aQuickChoiceKeepsTheLimitAndTheForbiddenPairs() {
        int found = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(200); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            QuickChoice.Found quick = QuickChoice.find(problem);
            if (quick != null) {
                found++;
                assertThat(Evaluator.evaluate(problem, quick.choices()).feasible())
                        .as("rerun with -Dseed=" + seed)
                        .isTrue();
            }
        }
        assertThat(found).isGreaterThan(RandomProblems.seeds(200) / 4);
    }

    @Test
    void anInterruptGetsTheBestSoFar() throws InterruptedException {
        StrategyProblem problem = LayeredProblemTest.layers(72, 72 * 3 * 16);
        Solution[] found = new Solution[1];
        Thread solving = new Thread(() -> {
            Thread self = Thread.currentThread();
            found[0] = StrategySolver.solve(problem, SolveOptions.ofSeconds(600), step -> self.interrupt());
            assertThat(Thread.interrupted()).isTrue();
        });
        solving.start();
        solving.join(60_000);
        assertThat(solving.isAlive()).isFalse();
        assertThat(found[0].status()).isEqualTo(Status.FEASIBLE);
        assertThat(Evaluator.evaluate(problem, found[0].choices()).feasible()).isTrue();
    }

    @Test
    void aFileThatTakesTooLongIsNotReadToTheEnd() throws IOException, TimeoutException {
        Path file = folder.resolve("p.json");
        ContestFile.write(LayeredProblemTest.layers(30, 0), file);
        assertThat(ContestFile.readWithin(file, Long.MAX_VALUE / 4).nodeCount()).isEqualTo(151);
        assertThatThrownBy(() -> ContestFile.readWithin(file, 1))
                .isInstanceOf(TimeoutException.class)
                .hasMessageContaining("p.json");
    }
}

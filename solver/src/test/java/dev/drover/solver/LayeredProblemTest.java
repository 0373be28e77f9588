package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import java.util.Arrays;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Problems like those of a GPT: equal layers, each a small graph, forward and backward joined. */
class LayeredProblemTest {
    /** Nodes per layer: weights, forward values, backward values, gradients. */
    static StrategyProblem layers(int layers, long limit) {
        StrategyProblem.Builder builder = StrategyProblem.builder("layers-" + layers);
        int strategies = 5;
        int[] forward = new int[layers + 1];
        int[] weights = new int[layers];
        long[][] matrices = new long[6][];
        SplittableRandom random = new SplittableRandom(5);
        for (int m = 0; m < matrices.length; m++) {
            matrices[m] = new long[strategies * strategies];
            for (int i = 0; i < matrices[m].length; i++) {
                matrices[m][i] = i % (strategies + 1) == 0 ? 0 : random.nextLong(20, 200);
            }
        }
        long[] flat = new long[strategies];
        long[] sizes = {64, 32, 32, 16, 8};
        long[] costs = {0, 10, 12, 25, 40};
        int time = 0;
        int end = 4 * layers + 4;
        forward[0] = builder.node(time++, end, flat, sizes);
        for (int l = 0; l < layers; l++) {
            weights[l] = builder.node(0, end, costs, sizes);
            int inner = builder.node(time, time + 2, flat, sizes);
            builder.edge(forward[l], inner, matrices[0]);
            builder.edge(weights[l], inner, matrices[1]);
            forward[l + 1] = builder.node(time + 1, end - time, flat, sizes);
            builder.edge(inner, forward[l + 1], matrices[2]);
            builder.edge(forward[l], forward[l + 1], matrices[3]);
            time += 2;
        }
        int back = forward[layers];
        for (int l = layers - 1; l >= 0; l--) {
            int gradient = builder.node(time, end, costs, sizes);
            int next = builder.node(time, time + 2, flat, sizes);
            builder.edge(back, gradient, matrices[4]);
            builder.edge(forward[l], gradient, matrices[5]);
            builder.edge(weights[l], gradient, matrices[0]);
            builder.edge(back, next, matrices[1]);
            builder.edge(weights[l], next, matrices[2]);
            back = next;
            time += 2;
        }
        if (limit > 0) {
            builder.usageLimit(limit);
        }
        return builder.build();
    }

    @Test
    void withoutALimitSeventyTwoLayersAreProvenAtOnce() {
        StrategyProblem problem = layers(72, 0);
        Solution solution = StrategySolver.solve(problem, SolveOptions.ofSeconds(30), ProgressListener.SILENT);
        System.out.printf("%d nodes, no limit: %.2f s%n", problem.nodeCount(), solution.seconds());
        assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
    }

    /** The limits are from loose to so tight that a third of what is used without one is left. */
    @ParameterizedTest
    @CsvSource({"11, 3600", "12, 3600", "16, 3003", "20, 2193", "24, 1440"})
    void withALimitSeventyTwoLayersAreProven(int eachUses, long optimum) {
        StrategyProblem problem = layers(72, 72L * 3 * eachUses);
        Solution solution = StrategySolver.solve(
                problem, SolveOptions.ofSeconds(120).withWorkLimit(2_000_000_000), ProgressListener.SILENT);
        assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
        assertThat(solution.objective()).isEqualTo(optimum);
        assertThat(Evaluator.evaluate(problem, solution.choices()).feasible()).isTrue();
    }

    @Test
    void equalLayersAreCondensedAlike() {
        Core few = Reducer.reduce(layers(20, 0), Set.of()).core();
        Core many = Reducer.reduce(layers(60, 0), Set.of()).core();
        assertThat(few).isNotNull();
        assertThat(many).isNotNull();
        if (few != null && many != null) {
            // The same matrices: what is kept of a layer does not depend on how many there are.
            assertThat(Arrays.stream(many.edgeCost).distinct().count())
                    .isEqualTo(Arrays.stream(few.edgeCost).distinct().count());
        }
    }
}

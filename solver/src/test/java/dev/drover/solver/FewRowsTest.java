package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import dev.drover.solver.SolveOptions.Technique;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FewRowsTest {
    private static final SolveOptions OPTIONS = SolveOptions.ofSeconds(60);

    private static @Nullable Core core(StrategyProblem problem) {
        return Reducer.reduce(problem, Set.of(Technique.CONDENSE, Technique.DOMINANCE))
                .core();
    }

    private static Incumbent run(Core core) {
        Incumbent incumbent = new Incumbent(core, 0, () -> 0, ProgressListener.SILENT);
        // Random problems are loose: without the guards for large ones.
        new FewRows(core, incumbent, OPTIONS, Budget.endless(), Double.POSITIVE_INFINITY, 24).run();
        return incumbent;
    }

    /** Equal blocks of three nodes between a first and a last node of their own, forward and backward in time, not numbered in order. */
    private static StrategyProblem blocks(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int blocks = random.nextInt(2, 4);
        int width = random.nextInt(2, 4);
        int end = 2 * blocks + 2;
        long[][] costs = new long[4][];
        long[][] sizes = new long[4][];
        long[][] matrices = new long[4][];
        long free = 0;
        for (int i = 0; i < 4; i++) {
            costs[i] = random.longs(width, 0, 100_000).toArray();
            sizes[i] = random.longs(width, 1, 60).toArray();
            matrices[i] = random.longs((long) width * width, 0, 40_000).toArray();
            free += Arrays.stream(sizes[i]).max().orElse(0);
        }
        StrategyProblem.Builder builder = StrategyProblem.builder("blocks-" + seed);
        int[] weights = new int[blocks];
        for (int b = blocks - 1; b >= 0; b--) {
            weights[b] = builder.node(0, end, costs[0], sizes[0]);
        }
        int before = builder.node(0, end, costs[3], sizes[3]);
        for (int b = 0; b < blocks; b++) {
            int forward = builder.node(b, end - b, costs[1], sizes[1]);
            int backward = builder.node(end - b - 1, end, costs[2], sizes[2]);
            builder.edge(before, forward, matrices[0]);
            builder.edge(weights[b], forward, matrices[1]);
            builder.edge(forward, backward, matrices[2]);
            before = forward;
        }
        int last = builder.node(blocks, blocks + 1, costs[3], sizes[2]);
        builder.edge(before, last, matrices[3]);
        builder.usageLimit(random.nextLong(free / 2, free * blocks + 1));
        return builder.build();
    }

    private static int compare(StrategyProblem problem, String rerun) {
        Core core = core(problem);
        if (core == null || core.rows == 0 || core.size == 0) {
            return 0;
        }
        Incumbent found = run(core);
        List<Integer> best = RandomProblems.best(problem);
        if (best == null) {
            assertThat(found.best()).as(rerun).isNull();
            return 0;
        }
        double optimum = Evaluator.evaluate(problem, best).cost().doubleValue();
        assertThat(found.bound()).as(rerun).isLessThanOrEqualTo(optimum);
        assertThat(found.cost()).as(rerun).isGreaterThanOrEqualTo(optimum);
        int[] choice = found.best();
        if (choice != null) {
            Evaluator.Evaluation score = Evaluator.evaluate(problem, core.expand(choice));
            assertThat(score.feasible()).as(rerun).isTrue();
            assertThat(score.cost().doubleValue()).as(rerun).isEqualTo(found.cost());
        }
        return found.bound() == optimum && found.cost() == optimum ? 2 : 1;
    }

    @Test
    void theBoundHoldsAndTheChoiceFitsInRandomProblems() {
        compareAll(400, RandomProblems::problem, "random problems");
    }

    @Test
    void theBoundHoldsAndTheChoiceFitsInRepeatedBlocks() {
        compareAll(40, FewRowsTest::blocks, "problems of repeated blocks");
    }

    private static void compareAll(int seeds, LongFunction<StrategyProblem> problems, String what) {
        int limited = 0;
        int proven = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(seeds); i++, seed++) {
            int outcome = compare(problems.apply(seed), "rerun with -Dseed=" + seed);
            limited += outcome > 0 ? 1 : 0;
            proven += outcome == 2 ? 1 : 0;
        }
        System.out.printf("few rows: %d of %d %s proven%n", proven, limited, what);
        assertThat(proven).isGreaterThanOrEqualTo(RandomProblems.seeds(60) == 1 ? 0 : limited / 2);
    }

    /** Layers with tight limits, against the exact search without this part; twice the same. */
    @Test
    void layersGetTheOptimumOfTheExactSearchAndTheSameChoiceTwice() {
        for (int eachUses : new int[] {12, 16, 20, 24}) {
            StrategyProblem problem = LayeredProblemTest.layers(24, 24L * 3 * eachUses);
            Solution exact = StrategySolver.solve(
                    problem, OPTIONS.leavingOut(Set.of(Technique.FEW_ROWS)), ProgressListener.SILENT);
            assertThat(exact.status()).isEqualTo(Status.OPTIMAL);
            Core core = Objects.requireNonNull(core(problem));
            Incumbent found = run(core);
            System.out.printf(
                    "few rows: 24 layers of %d: %.0f >= %d >= %.0f%n",
                    eachUses, found.cost(), exact.objective(), found.bound());
            assertThat(found.bound()).isLessThanOrEqualTo((double) exact.objective());
            assertThat(found.cost()).isGreaterThanOrEqualTo((double) exact.objective());
            assertThat(run(core).best()).isEqualTo(found.best());
        }
    }

    @Test
    void rowsThatAreLeftOutDoNotCount() {
        StrategyProblem.Builder builder = StrategyProblem.builder("two times");
        builder.node(0, 1, new long[] {0, 5}, new long[] {9, 4});
        builder.node(1, 2, new long[] {0, 7}, new long[] {8, 3});
        Core core = Objects.requireNonNull(core(builder.usageLimit(6).build()), "a core");
        if (core.rows == 2) {
            Core second = core.onlyRows(new int[] {1});
            assertThat(second.rows).isEqualTo(1);
            assertThat(second.limit[0]).isEqualTo(core.limit[1]);
            assertThat(second.fits(new int[] {0, 1})).isTrue();
            assertThat(core.fits(new int[] {0, 1})).isFalse();
        }
    }
}

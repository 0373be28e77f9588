package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.SolveOptions.Technique;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The reductions and the two bounds on which everything rests, each against the unreduced problem. */
class CoreTest {
    private static Core core(StrategyProblem problem, Set<Technique> without) {
        Reducer.Result result = Reducer.reduce(problem, without);
        assertThat(result.contradiction()).isEmpty();
        Core core = result.core();
        if (core == null) {
            throw new AssertionError("no core");
        }
        return core;
    }

    private static int[] randomValues(Core core, SplittableRandom random) {
        int[] x = new int[core.size];
        for (int v = 0; v < x.length; v++) {
            x[v] = random.nextInt(core.domain[v]);
        }
        return x;
    }

    @Test
    void everyChoiceOfACoreCostsAndUsesWhatTheProblemSays() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(300); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            SplittableRandom random = new SplittableRandom(seed);
            for (Set<Technique> without : List.<Set<Technique>>of(
                    Set.of(), Set.of(Technique.MERGE), Set.of(Technique.CONDENSE), Set.of(Technique.DOMINANCE))) {
                Core core = Reducer.reduce(problem, without).core();
                if (core == null) {
                    continue;
                }
                for (int trial = 0; trial < 5; trial++) {
                    int[] x = randomValues(core, random);
                    Evaluator.Evaluation score = Evaluator.evaluate(problem, core.expand(x));
                    boolean allowed = core.cost(x) < Double.POSITIVE_INFINITY;
                    assertThat(allowed && core.fits(x)).as("seed %d", seed).isEqualTo(score.feasible());
                    if (allowed) {
                        assertThat(core.cost(x))
                                .as("seed %d", seed)
                                .isEqualTo(score.cost().doubleValue());
                    }
                }
            }
        }
    }

    @Test
    void fewerValuesAreTheSameProblemOnThem() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(100); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            Core core = Reducer.reduce(problem, seed % 2 == 0 ? Set.of() : Set.of(Technique.CONDENSE))
                    .core();
            if (core == null) {
                continue;
            }
            SplittableRandom random = new SplittableRandom(seed);
            boolean[][] keep = new boolean[core.size][];
            for (int v = 0; v < core.size; v++) {
                keep[v] = new boolean[core.domain[v]];
                keep[v][random.nextInt(core.domain[v])] = true;
                keep[v][random.nextInt(core.domain[v])] = true;
            }
            Core fewer = core.restrict(keep);
            int[] x = randomValues(fewer, random);
            Evaluator.Evaluation score = Evaluator.evaluate(problem, fewer.expand(x));
            boolean allowed = fewer.cost(x) < Double.POSITIVE_INFINITY;
            assertThat(allowed && fewer.fits(x)).as("seed %d", seed).isEqualTo(score.feasible());
        }
    }

    @Test
    void theDualBoundNeverPassesTheOptimumAndCutsNeverTakeIt() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(150); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            List<Integer> best = RandomProblems.best(problem);
            Core core = Reducer.reduce(problem, Set.of(Technique.DOMINANCE, Technique.CONDENSE))
                    .core();
            if (best == null || core == null || core.size == 0) {
                continue;
            }
            double optimum = Evaluator.evaluate(problem, best).cost().doubleValue();
            DualBound dual = new DualBound(core, Budget.endless());
            double last = Double.NEGATIVE_INFINITY;
            for (int sweep = 0; sweep < 60; sweep++) {
                double bound = dual.sweep();
                assertThat(bound).as("seed %d", seed).isLessThanOrEqualTo(optimum + 1e-6);
                if (sweep < 5) {
                    assertThat(bound).as("sweeps only raise, seed %d", seed).isGreaterThanOrEqualTo(last - 1e-6);
                    last = bound;
                }
                if (sweep >= 5) {
                    dual.step(bound, Double.POSITIVE_INFINITY);
                }
            }
            // Some choice that fits, one above the optimum: all optima must survive the cuts.
            boolean[][] keep = dual.worthKeeping(optimum + 1, new int[core.size]);
            Core fewer = core.restrict(keep);
            assertThat(bruteForce(fewer)).as("seed %d", seed).isEqualTo(optimum);
        }
    }

    @Test
    void goingBackToTheBestPricesFindsTheBestBoundAgain() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(60); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            List<Integer> best = RandomProblems.best(problem);
            Core core = Reducer.reduce(problem, Set.of(Technique.DOMINANCE, Technique.CONDENSE))
                    .core();
            if (best == null || core == null || core.size == 0) {
                continue;
            }
            double optimum = Evaluator.evaluate(problem, best).cost().doubleValue();
            DualBound dual = new DualBound(core, Budget.endless());
            double highest = Double.NEGATIVE_INFINITY;
            for (int sweep = 0; sweep < 400; sweep++) {
                double bound = dual.sweep();
                highest = Math.max(highest, bound);
                dual.step(bound, optimum);
            }
            assertThat(dual.best()).as("seed %d", seed).isEqualTo(highest).isLessThanOrEqualTo(optimum + 1e-6);
            dual.worthKeeping(optimum + 1, new int[core.size]);
            assertThat(dual.sweep()).as("seed %d", seed).isGreaterThanOrEqualTo(highest - 1e-6);
            for (int v : dual.lively()) {
                assertThat(v).isBetween(0, core.size - 1);
            }
        }
    }

    @Test
    void pricesReachTheBoundThatTheyCan() {
        StrategyProblem.Builder builder = StrategyProblem.builder("two of three must step back");
        for (int i = 0; i < 3; i++) {
            builder.node(i, 5, new long[] {0, 10}, new long[] {6, 0});
        }
        StrategyProblem problem = builder.usageLimit(6).build();
        Core core = core(problem, Set.of(Technique.DOMINANCE, Technique.CONDENSE));
        DualBound dual = new DualBound(core, Budget.endless());
        for (int sweep = 0; sweep < 300; sweep++) {
            dual.step(dual.sweep(), 20);
        }
        // The bound of the prices: max over p >= 0 of 3 min(6 p, 10) - 6 p = 20 at p = 10 / 6.
        assertThat(dual.best()).isBetween(19.8, 20.0 + 1e-9);
    }

    private static double bruteForce(Core core) {
        int[] x = new int[core.size];
        double best = Double.POSITIVE_INFINITY;
        while (true) {
            if (core.fits(x)) {
                best = Math.min(best, core.cost(x));
            }
            int v = 0;
            while (v < x.length && ++x[v] == core.domain[v]) {
                x[v++] = 0;
            }
            if (v == x.length) {
                return best;
            }
        }
    }

    @Test
    void eliminationFindsTheMinimumWithAnyTableLimit() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(150); i++, seed++) {
            Core core = Reducer.reduce(
                            RandomProblems.problem(seed),
                            Set.of(Technique.DOMINANCE, Technique.MERGE, Technique.CONDENSE))
                    .core();
            if (core == null || core.size == 0) {
                continue;
            }
            SplittableRandom random = new SplittableRandom(seed);
            int[] all = new int[core.size];
            Arrays.setAll(all, v -> v);
            double least = Double.POSITIVE_INFINITY;
            int[] x = new int[core.size];
            while (true) {
                least = Math.min(least, core.cost(x));
                int v = 0;
                while (v < x.length && ++x[v] == core.domain[v]) {
                    x[v++] = 0;
                }
                if (v == x.length) {
                    break;
                }
            }
            int[] y = randomValues(core, random);
            Elimination whole = Elimination.plan(core, all, 1 << 20, 1 << 22, random);
            assertThat(whole.frees(core.size)).isTrue();
            assertThat(core.constant + whole.minimize(core.unary, y))
                    .as("seed %d", seed)
                    .isEqualTo(least);
            assertThat(core.cost(y)).as("seed %d", seed).isEqualTo(least);
            // With small tables some variables stay fixed, and the cost never rises.
            int[] z = randomValues(core, random);
            double before = core.cost(z);
            Elimination.plan(core, all, 8, 64, random).minimize(core.unary, z);
            assertThat(core.cost(z)).as("seed %d", seed).isLessThanOrEqualTo(before);
        }
    }

    @Test
    void edgesThatAllowOnePartnerJoinTheirNodes() {
        StrategyProblem.Builder builder = StrategyProblem.builder("chain");
        long no = StrategyProblem.FORBIDDEN;
        for (int i = 0; i < 5; i++) {
            builder.node(i, i + 2, new long[] {i, 10 - i}, new long[] {3, 1});
        }
        for (int i = 0; i < 4; i++) {
            builder.edge(i, i + 1, new long[] {1, no, no, 2});
        }
        StrategyProblem problem = builder.usageLimit(5).build();
        assertThat(core(problem, Set.of(Technique.CONDENSE)).size).isEqualTo(1);
        assertThat(core(problem, Set.of(Technique.MERGE, Technique.CONDENSE)).size)
                .isEqualTo(5);
    }

    @Test
    void anEdgeThatIsASumMovesIntoTheNodes() {
        StrategyProblem.Builder builder = StrategyProblem.builder("sum");
        int a = builder.node(0, 1, new long[] {0, 3}, new long[] {2, 1});
        int b = builder.node(0, 1, new long[] {0, 4}, new long[] {2, 1});
        builder.edge(a, b, new long[] {1, 2, 4, 5});
        assertThat(core(builder.usageLimit(3).build(), Set.of(Technique.CONDENSE)).edgeCount)
                .isZero();
    }

    @Test
    void aStrategyThatIsWorseInAllGoes() {
        StrategyProblem.Builder builder = StrategyProblem.builder("worse");
        int a = builder.node(0, 1, new long[] {5, 3, 1}, new long[] {2, 2, 3});
        int b = builder.node(0, 1, new long[] {0, 4}, new long[] {2, 1});
        builder.edge(a, b, new long[] {9, 2, 4, 2, 0, 7});
        Core core = core(builder.usageLimit(4).build(), Set.of(Technique.CONDENSE));
        // Strategy 0 of the first node costs more than 1 and uses as much; the rest cannot be compared.
        assertThat(core.domain).containsExactly(2, 2);
    }

    @Test
    void timesThatOthersImplyAreNoRows() {
        StrategyProblem.Builder builder = StrategyProblem.builder("times");
        builder.node(0, 100, new long[] {0, 5}, new long[] {9, 1});
        builder.node(10, 20, new long[] {0, 5}, new long[] {9, 1});
        builder.node(40, 50, new long[] {0, 5}, new long[] {1, 0});
        Core core = core(builder.usageLimit(12).build(), Set.of(Technique.CONDENSE));
        // Only at 10 .. 19 can the limit be passed.
        assertThat(core.rows).isEqualTo(1);
        assertThat(core.rowTime[0]).hasToString("[10, 20)");
    }

    @Test
    void condensingKeepsTheOptimum() {
        int smaller = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(400); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            boolean even = seed % 2 == 0;
            Set<Technique> without = even ? Set.of() : Set.of(Technique.DOMINANCE);
            Set<Technique> neither =
                    even ? Set.of(Technique.CONDENSE) : Set.of(Technique.DOMINANCE, Technique.CONDENSE);
            Core whole = Reducer.reduce(problem, neither).core();
            if (whole == null) {
                continue;
            }
            Core small = Reducer.reduce(problem, without).core();
            double best = small == null ? Double.POSITIVE_INFINITY : bruteForce(small);
            assertThat(best).as("seed %d", seed).isEqualTo(bruteForce(whole));
            smaller += small != null && small.size < whole.size ? 1 : 0;
        }
        assertThat(smaller).isGreaterThan(100);
    }

    @Test
    void aLeafAndAChainWithoutUseGo() {
        StrategyProblem.Builder builder = StrategyProblem.builder("chain");
        int a = builder.node(0, 9, new long[] {0, 3, 1}, new long[] {5, 1, 4});
        int leaf = builder.node(0, 0, new long[] {0, 1, 2}, new long[] {9, 9, 9});
        int middle = builder.node(0, 0, new long[] {4, 0, 2}, new long[] {9, 9, 9});
        int b = builder.node(0, 9, new long[] {2, 0, 1}, new long[] {1, 5, 3});
        builder.edge(a, leaf, new long[] {0, 5, 6, 3, 0, 4, 2, 7, 0});
        builder.edge(a, middle, new long[] {0, 5, 7, 4, 0, 5, 6, 5, 0});
        builder.edge(middle, b, new long[] {0, 7, 5, 6, 0, 5, 7, 5, 0});
        StrategyProblem problem = builder.usageLimit(8).build();
        assertThat(core(problem, Set.of(Technique.CONDENSE)).size).isEqualTo(4);
        Core core = core(problem, Set.of());
        assertThat(core.size).isEqualTo(2);
        assertThat(core.edgeCount).isEqualTo(1);
        assertThat(core.expand(new int[] {0, 1})).hasSize(4);
    }

    @Test
    void aLeafWhoseBestValueUsesLeastGivesItsUseToItsNeighbour() {
        StrategyProblem.Builder builder = StrategyProblem.builder("use");
        int a = builder.node(0, 9, new long[] {0, 3, 9}, new long[] {5, 4, 1});
        int leaf = builder.node(2, 5, new long[] {0, 0}, new long[] {8, 2});
        builder.edge(a, leaf, new long[] {9, 1, 0, StrategyProblem.FORBIDDEN, 7, 2});
        int other = builder.node(0, 9, new long[] {0, 2}, new long[] {4, 0});
        builder.edge(a, other, new long[] {0, 1, 5, 0, 0, 7});
        StrategyProblem problem = builder.usageLimit(11).build();
        Core core = core(problem, Set.of());
        assertThat(core.size).isEqualTo(2);
        List<Integer> best = RandomProblems.best(problem);
        assertThat(best).isNotNull();
        if (best != null) {
            assertThat(bruteForce(core))
                    .isEqualTo(Evaluator.evaluate(problem, best).cost().doubleValue());
        }
    }
}

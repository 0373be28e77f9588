package dev.drover.solver;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Small random problems and their best choice by brute force. */
final class RandomProblems {
    private RandomProblems() {}

    /** Returns the first seed of a test: {@code -Dseed=N} reruns one. */
    static long firstSeed() {
        return Long.getLong("seed", 1);
    }

    /** Returns how many seeds to run. */
    static int seeds(int normally) {
        return System.getProperty("seed") == null ? normally : 1;
    }

    /** What the reductions that lose nothing at any prices leave of a problem; null if they leave no variable. */
    static @Nullable Core condensed(long seed) {
        Core core = reduced(problem(seed));
        return core == null || core.size == 0 ? null : core;
    }

    /** A problem after these reductions; null if they find that it has no choice. */
    static @Nullable Core reduced(StrategyProblem problem) {
        return Reducer.reduce(problem, Set.of(SolveOptions.Technique.CONDENSE, SolveOptions.Technique.DOMINANCE))
                .core();
    }

    /** Tells every choice of a core, in an array that changes. */
    static void everyChoice(Core core, Consumer<int[]> told) {
        int[] x = new int[core.size];
        for (boolean more = true; more; ) {
            told.accept(x);
            more = false;
            for (int v = 0; v < core.size && !more; v++) {
                x[v] = (x[v] + 1) % core.domain[v];
                more = x[v] > 0;
            }
        }
    }

    /** Up to 8 nodes of 4 strategies, with forbidden pairs, bijections, parallel edges and a limit that often binds. */
    static StrategyProblem problem(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        StrategyProblem.Builder builder = StrategyProblem.builder("random-" + seed);
        int nodes = random.nextInt(1, 9);
        int[] width = new int[nodes];
        long range = random.nextInt(4) == 0 ? 4 : 1000;
        for (int i = 0; i < nodes; i++) {
            width[i] = random.nextInt(3) == 0 ? 3 : random.nextInt(1, 5);
            long[] costs = new long[width[i]];
            long[] usages = new long[width[i]];
            for (int k = 0; k < width[i]; k++) {
                costs[k] = random.nextInt(12) == 0 ? StrategyProblem.FORBIDDEN : random.nextLong(range);
                usages[k] = random.nextLong(10);
            }
            long start = random.nextLong(10);
            builder.node(start, start + random.nextLong(6), costs, usages);
        }
        int edges = nodes == 1 ? 0 : random.nextInt(2 * nodes);
        for (int e = 0; e < edges; e++) {
            int from = random.nextInt(nodes);
            int to = (from + 1 + random.nextInt(nodes - 1)) % nodes;
            long[] matrix = new long[width[from] * width[to]];
            boolean bijection = width[from] == width[to] && random.nextInt(3) == 0;
            int shift = random.nextInt(4);
            for (int i = 0; i < width[from]; i++) {
                for (int j = 0; j < width[to]; j++) {
                    boolean forbidden = bijection ? (i + shift) % width[to] != j : random.nextInt(8) == 0;
                    matrix[i * width[to] + j] = forbidden
                            ? StrategyProblem.FORBIDDEN + random.nextLong(1000)
                            : random.nextInt(3) == 0 ? 0 : random.nextLong(range);
                }
            }
            builder.edge(from, to, matrix);
        }
        if (random.nextInt(5) > 0) {
            builder.usageLimit(random.nextLong(5, 30));
        }
        return builder.build();
    }

    /** Returns a best feasible choice, null if none is feasible. */
    static @Nullable List<Integer> best(StrategyProblem problem) {
        return best(problem, Evaluator.Evaluation::feasible, Evaluator.Evaluation::cost);
    }

    /** Of all choices that count, the first one of the least value; null if none counts. */
    static @Nullable List<Integer> best(
            StrategyProblem problem,
            Predicate<Evaluator.Evaluation> counts,
            Function<Evaluator.Evaluation, BigInteger> value) {
        List<Integer> choices = new ArrayList<>(Collections.nCopies(problem.nodeCount(), 0));
        List<Integer> best = null;
        BigInteger least = BigInteger.ZERO;
        while (true) {
            Evaluator.Evaluation score = Evaluator.evaluate(problem, choices);
            if (counts.test(score) && (best == null || value.apply(score).compareTo(least) < 0)) {
                best = List.copyOf(choices);
                least = value.apply(score);
            }
            int i = 0;
            while (i < choices.size()) {
                if (choices.get(i) + 1 < problem.strategyCount(i)) {
                    choices.set(i, choices.get(i) + 1);
                    break;
                }
                choices.set(i++, 0);
            }
            if (i == choices.size()) {
                return best;
            }
        }
    }
}

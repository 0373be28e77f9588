package dev.drover.solver;

import dev.drover.solver.Backtracking.Answer;
import java.math.BigInteger;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * By how much every choice of a problem is above its usage limit: halves the interval between what is proven and the nearest choice known,
 * each time asking whether a larger limit has a choice.
 *
 * @param time where the nearest choice is above the limit most, null if none without forbidden pairs is known
 * @param least no choice without forbidden pairs is above by less
 * @param nearest excess of the nearest choice known
 */
record LeastExcess(@Nullable TimeSpan time, BigInteger least, BigInteger nearest) {
    private static final long WORK = 300_000_000;

    /**
     * Searches for the least excess.
     *
     * @param free without costs, proven to have no choice
     * @param known without forbidden pairs, empty if none is known
     * @param budget ends it early: then less is known
     */
    static LeastExcess find(StrategyProblem free, List<Integer> known, Budget budget) {
        LeastExcess excess = known.isEmpty() ? new LeastExcess(null, BigInteger.ONE, BigInteger.ZERO) : of(free, known);
        long limit = free.usageLimit();
        long begin = budget.spent();
        for (long step = 1; !excess.isExact() && !budget.over() && budget.spent() - begin < WORK; step *= 2) {
            // Without a choice the guesses grow, with one they halve what is left.
            BigInteger guess = excess.time == null
                    ? excess.least.add(BigInteger.valueOf(step))
                    : excess.least.add(excess.nearest).shiftRight(1);
            BigInteger larger = BigInteger.valueOf(limit).add(guess);
            if (larger.bitLength() > 62 || step <= 0) {
                break;
            }
            StrategyProblem looser = free.withUsageLimit(larger.longValueExact());
            if (looser.largestUsage() >= StrategyProblem.LARGEST_SUM) {
                break;
            }
            AnyChoice any = AnyChoice.find(looser, budget);
            if (any.answer() == Answer.CHOICE) {
                LeastExcess nearer = of(free, any.choices());
                excess = new LeastExcess(nearer.time, excess.least, nearer.nearest);
            } else if (any.answer() == Answer.NONE) {
                excess = new LeastExcess(excess.time, guess.add(BigInteger.ONE), excess.nearest);
            } else {
                break;
            }
        }
        return excess;
    }

    private static LeastExcess of(StrategyProblem free, List<Integer> choices) {
        Evaluator.Evaluation score = Evaluator.evaluate(free, choices);
        long start = score.peakTime();
        long end = Long.MAX_VALUE;
        for (int node = 0; node < free.nodeCount(); node++) {
            for (long time : new long[] {free.intervalStart(node), free.intervalEnd(node)}) {
                end = time > start ? Math.min(end, time) : end;
            }
        }
        return new LeastExcess(
                new TimeSpan(start, end),
                BigInteger.ONE,
                score.peakUsage().subtract(BigInteger.valueOf(free.usageLimit())));
    }

    /** Whether the nearest choice is proven to be the nearest of all. */
    boolean isExact() {
        return time != null && least.equals(nearest);
    }
}

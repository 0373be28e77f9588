package dev.drover.solver;

import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Whether a problem has a feasible choice at all, whatever it costs.
 *
 * @param answer what is known
 * @param choices a choice if there is one, else empty
 * @param contradiction why there is none, where the reductions find out, else empty
 */
record AnyChoice(Backtracking.Answer answer, List<Integer> choices, String contradiction) {
    private static final long FIRST_WORK = 1_000_000;
    private static final long LAST_WORK = 100_000_000;
    private static final int MOST_ENTRIES = 1 << 20;
    private static final long MOST_TOTAL_ENTRIES = 1 << 23;
    private static final int WIDTH = 1 << 14;

    AnyChoice {
        choices = List.copyOf(choices);
    }

    /**
     * Searches.
     *
     * @param free a problem {@linkplain StrategyProblem#withoutCosts without costs}: then nearly all strategies but those that use least go
     * @param budget ends it early: then less is known
     */
    static AnyChoice find(StrategyProblem free, Budget budget) {
        try {
            // The reductions do not count their work: they look at each entry a few times.
            budget.spend(20L * (free.nodeCount() + free.edgeCount()));
            Reducer.Result reduced = Reducer.reduce(free, Set.of(), budget);
            Core core = reduced.core();
            return core == null
                    ? new AnyChoice(Backtracking.Answer.NONE, List.of(), reduced.contradiction())
                    : find(core, budget);
        } catch (Budget.Late e) {
            return new AnyChoice(Backtracking.Answer.UNKNOWN, List.of(), "");
        }
    }

    private static AnyChoice find(Core core, Budget budget) {
        int[] x = core.size == 0 ? new int[0] : FirstChoice.find(core, budget);
        if (x != null) {
            return found(core, x);
        }
        Backtracking backtracking = new Backtracking(core, budget);
        Backtracking.Answer answer = backtracking.search(FIRST_WORK);
        if (answer == Backtracking.Answer.UNKNOWN) {
            AnyChoice exact = core.rows == 0 ? eliminated(core, budget) : labelled(core, budget);
            if (exact != null) {
                return exact;
            }
            answer = backtracking.search(LAST_WORK);
        }
        return answer == Backtracking.Answer.CHOICE
                ? found(core, backtracking.choice())
                : new AnyChoice(answer, List.of(), "");
    }

    private static AnyChoice found(Core core, int[] x) {
        return new AnyChoice(Backtracking.Answer.CHOICE, core.expand(x), "");
    }

    private static @Nullable AnyChoice eliminated(Core core, Budget budget) {
        Elimination plan = Elimination.whole(core, MOST_ENTRIES, MOST_TOTAL_ENTRIES, new SplittableRandom(0), budget);
        if (plan == null) {
            return null;
        }
        int[] x = new int[core.size];
        budget.spend(plan.entries());
        return plan.minimize(core.unary, x) == Double.POSITIVE_INFINITY
                ? new AnyChoice(Backtracking.Answer.NONE, List.of(), "")
                : found(core, x);
    }

    private static @Nullable AnyChoice labelled(Core core, Budget budget) {
        LabelSearch labels = LabelSearch.along(core, LabelSearch.MOST_NUMBERS, budget);
        if (labels == null) {
            labels = LabelSearch.sideBySide(core, LabelSearch.MOST_NUMBERS, budget);
        }
        if (labels == null) {
            return null;
        }
        double bound = labels.search(new double[core.rows], Double.POSITIVE_INFINITY, WIDTH);
        int[] best = labels.best();
        if (best != null) {
            return found(core, best);
        }
        return bound == Double.POSITIVE_INFINITY ? new AnyChoice(Backtracking.Answer.NONE, List.of(), "") : null;
    }
}

package dev.drover.solver;

import dev.drover.solver.Backtracking.Answer;
import java.math.BigInteger;

/** Why a problem has no feasible choice: the forbidden pairs alone, or the usage limit as well, and then when and by how much. */
final class Infeasibility {
    private Infeasibility() {}

    /**
     * Explains.
     *
     * @param problem proven to have no feasible choice
     * @param budget ends it early: then less is told
     */
    static String explanation(StrategyProblem problem, Budget budget) {
        StrategyProblem free = problem.withoutCosts();
        AnyChoice unlimited = AnyChoice.find(free.withUsageLimit(StrategyProblem.UNLIMITED), budget);
        if (!unlimited.contradiction().isEmpty()) {
            return unlimited.contradiction();
        }
        boolean isLimited = problem.usageLimit() != StrategyProblem.UNLIMITED;
        boolean proven = unlimited.answer() == Answer.NONE;
        if (proven || !isLimited) {
            return "The forbidden pairs leave no choice" + (isLimited ? ", whatever the usage limit" : "")
                    + (proven ? ", though no single edge forbids all." : ".");
        }
        String alone = nodeAboveLimit(problem);
        if (!alone.isEmpty()) {
            return alone;
        }
        LeastExcess excess = LeastExcess.find(free, unlimited.choices(), budget);
        long limit = problem.usageLimit();
        if (excess.time() == null) {
            return "Every choice has a forbidden pair or is above the usage limit " + limit + " by at least "
                    + excess.least() + ".";
        }
        return "Every choice without forbidden pairs is above the usage limit " + limit + ": the nearest"
                + (excess.isExact() ? "" : " seen") + " uses "
                + excess.nearest().add(BigInteger.valueOf(limit)) + " in the interval " + excess.time()
                + ", above it by " + excess.nearest()
                + (excess.isExact()
                        ? ", and none is above it by less."
                        : ", and each is above it by at least " + excess.least() + ".");
    }

    private static String nodeAboveLimit(StrategyProblem problem) {
        for (int node = 0; node < problem.nodeCount(); node++) {
            long least = Long.MAX_VALUE;
            for (int k = 0; k < problem.strategyCount(node); k++) {
                if (problem.cost(node, k) < StrategyProblem.FORBIDDEN) {
                    least = Math.min(least, problem.usage(node, k));
                }
            }
            if (problem.intervalStart(node) < problem.intervalEnd(node) && least > problem.usageLimit()) {
                return "Node " + node + " alone uses at least " + least + " in the interval ["
                        + problem.intervalStart(node) + ", " + problem.intervalEnd(node)
                        + ") with each strategy it may take, above the usage limit " + problem.usageLimit() + " by "
                        + (least - problem.usageLimit()) + ".";
            }
        }
        return "";
    }
}

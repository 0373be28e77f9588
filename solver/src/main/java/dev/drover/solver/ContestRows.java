package dev.drover.solver;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a file of a problem holds; equal rows are one array. */
final class ContestRows {
    String name = "";
    long usageLimit = StrategyProblem.UNLIMITED;

    @Nullable
    List<long[]> intervals;

    @Nullable
    List<long[]> nodeCosts;

    @Nullable
    List<long[]> nodeUsages;

    @Nullable
    List<long[]> edgeNodes;

    @Nullable
    List<long[]> edgeCosts;

    /** Whether it is known already that no number is negative. */
    boolean notNegative;

    /** Returns the problem; fails with {@link SolverInputException} where parts do not fit. */
    StrategyProblem problem(String source) {
        try {
            return built(source);
        } catch (SolverInputException e) {
            String message = String.valueOf(e.getMessage());
            throw message.contains("(" + source + ")")
                    ? e
                    : new SolverInputException("The file (" + source + ") must hold a problem. " + message);
        }
    }

    private StrategyProblem built(String source) {
        List<long[]> spans = require(source, intervals, "problem.nodes.intervals");
        List<long[]> costs = require(source, nodeCosts, "problem.nodes.costs");
        List<long[]> usages = require(source, nodeUsages, "problem.nodes.usages");
        List<long[]> ends = require(source, edgeNodes, "problem.edges.nodes");
        List<long[]> matrices = require(source, edgeCosts, "problem.edges.costs");
        sameCount("problem.nodes.intervals", spans, "problem.nodes.costs", costs);
        sameCount("problem.nodes.usages", usages, "problem.nodes.costs", costs);
        sameCount("problem.edges.nodes", ends, "problem.edges.costs", matrices);
        StrategyProblem.Builder builder = new StrategyProblem.Builder(name, true, notNegative);
        builder.usageLimit(usageLimit);
        for (int i = 0; i < spans.size(); i++) {
            long[] span = spans.get(i);
            if (span.length != 2) {
                throw new SolverInputException("The number count (" + span.length + ") of interval (" + i
                        + ") must be 2, its start and end.\nMaybe "
                        + (span.length < 2 ? "an end is missing." : "there is a number too many."));
            }
            builder.node(span[0], span[1], costs.get(i), usages.get(i));
        }
        for (int e = 0; e < ends.size(); e++) {
            long[] pair = ends.get(e);
            if (pair.length != 2) {
                throw new SolverInputException("The node count (" + pair.length + ") of edge (" + e
                        + ") must be 2.\nMaybe split the edge into pairs with a node of their own.");
            }
            for (long node : pair) {
                if (node < 0 || node >= spans.size()) {
                    throw new SolverInputException("The node (" + node + ") of edge (" + e
                            + ") must be at least 0 and below the node count (" + spans.size()
                            + ").\nMaybe nodes are missing in the file.");
                }
            }
            builder.edge((int) pair[0], (int) pair[1], matrices.get(e));
        }
        return builder.build();
    }

    private static List<long[]> require(String source, @Nullable List<long[]> rows, String what) {
        if (rows == null) {
            throw new SolverInputException(
                    "The file (" + source + ") must have " + what + ".\nMaybe it is a file of another kind.");
        }
        return rows;
    }

    private static void sameCount(String what, List<long[]> rows, String other, List<long[]> otherRows) {
        if (rows.size() != otherRows.size()) {
            throw new SolverInputException("The row count (" + rows.size() + ") of " + what
                    + " must equal the row count (" + otherRows.size() + ") of " + other
                    + ".\nMaybe the file is incomplete.");
        }
    }
}

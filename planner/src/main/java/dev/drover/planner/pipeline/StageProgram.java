package dev.drover.planner.pipeline;

import com.google.ortools.Loader;
import com.google.ortools.modelbuilder.LinearExpr;
import com.google.ortools.modelbuilder.LinearExprBuilder;
import com.google.ortools.modelbuilder.ModelBuilder;
import com.google.ortools.modelbuilder.ModelSolver;
import com.google.ortools.modelbuilder.SolveStatus;
import com.google.ortools.modelbuilder.Variable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Rhino's integer program for stages, on a contracted graph. B_i, the stage of node i, is written in unary: y_is says that B_i &gt;= s.
 *
 * <pre>
 *   minimize    sum over values t, s of bytes_t e_ts              bytes over each cut, once per value and cut that it passes
 *   y_is &lt;= y_i(s-1)                                              unary
 *   y_is &lt;= y_js                        for each edge i -&gt; j      B_i &lt;= B_j
 *   e_ts &gt;= y_js - y_is                 for each user j of t from i   (F_ij of the paper, per cut)
 *   sum_i w_i (y_is - y_i(s+1)) &lt;= T (1 + r)                      balance, T = total / stages
 *   sum_i (y_is - y_i(s+1)) &gt;= 1                               no stage is empty
 *   asap_i &lt;= B_i &lt;= alap_i                                       from the work before and after i
 * </pre>
 *
 * A value that is used on several stages is counted once per hop on its way to the last of them.
 */
final class StageProgram {
    private static final double GAP = 0.005;
    /** Of the search tree. Counted, not timed, so that the same step gets the same stages on every machine. */
    private static final int MAX_NODES = 2_000;
    /** Larger programs are not tried: their first relaxation alone takes long, and the cut of the program's order is good. */
    private static final int MAX_VARIABLES = 12_000;

    private final StageGraph graph;
    private final int stages;
    private final double tolerance;
    private final int[] asap;
    private final int[] alap;

    /** A program whose stages may exceed their share of the work by {@code tolerance} (0.08 = 8 %). */
    StageProgram(StageGraph graph, int stages, double tolerance) {
        this.graph = graph;
        this.stages = stages;
        this.tolerance = tolerance;
        this.asap = new int[graph.nodes()];
        this.alap = new int[graph.nodes()];
        bound();
    }

    /** With T the share and f_i a node's work: the work of its ancestors must fit before it, that of its descendants after it. */
    private void bound() {
        double share = graph.totalWeight() / stages;
        double slack = share * tolerance;
        List<BitSet> ancestors = graph.ancestors();
        double[] after = new double[graph.nodes()];
        for (int i = 0; i < graph.nodes(); i++) {
            int node = i;
            ancestors.get(i).stream().forEach(a -> after[a] += graph.weight(node));
        }
        for (int i = 0; i < graph.nodes(); i++) {
            double before = ancestors.get(i).stream().mapToDouble(graph::weight).sum();
            double half = graph.weight(i) / 2;
            // The slack of all stages before (after) it may have been used up.
            asap[i] = stageOf((before + half) / (share + slack));
            alap[i] = stages - 1 - stageOf((after[i] + half) / (share + slack));
            if (alap[i] < asap[i]) {
                alap[i] = asap[i];
            }
        }
        for (int node : graph.topologicalOrder()) {
            for (int to : graph.successors(node)) {
                asap[to] = Math.max(asap[to], asap[node]);
                alap[to] = Math.max(alap[to], Math.max(alap[node], asap[to]));
            }
        }
    }

    private int stageOf(double share) {
        return (int) Math.min(stages - 1, Math.max(0, Math.floor(share)));
    }

    /** Stage by node, or null if the solver finds none within its nodes, or in time. */
    int @Nullable [] solve(Duration limit) {
        if ((long) (graph.nodes() + graph.tensors().size()) * (stages - 1) > MAX_VARIABLES) {
            return null;
        }
        Loader.loadNativeLibraries();
        ModelBuilder model = new ModelBuilder();
        List<List<@Nullable Variable>> y = new ArrayList<>();
        for (int i = 0; i < graph.nodes(); i++) {
            List<@Nullable Variable> row = new ArrayList<>();
            row.add(null);
            for (int s = 1; s < stages; s++) {
                Variable variable = model.newVar(s <= asap[i] ? 1 : 0, s <= alap[i] ? 1 : 0, true, "y" + i + "_" + s);
                Variable before = row.get(s - 1);
                if (before != null) {
                    model.addLessOrEqual(difference(variable, before), 0);
                }
                row.add(variable);
            }
            y.add(row);
        }
        LinearExprBuilder objective = LinearExpr.newBuilder();
        double scale = Math.max(
                        1,
                        graph.tensors().stream()
                                .mapToLong(StageGraph.Tensor::bytes)
                                .max()
                                .orElse(1))
                / 1e4;
        for (int s = 1; s < stages; s++) {
            for (int i = 0; i < graph.nodes(); i++) {
                for (int to : graph.successors(i)) {
                    model.addLessOrEqual(difference(at(y, i, s), at(y, to, s)), 0);
                }
            }
            for (StageGraph.Tensor tensor : graph.tensors()) {
                Variable crosses = model.newVar(0, 1, false, "");
                objective.addTerm(crosses, tensor.bytes() / scale);
                for (int user : tensor.users()) {
                    LinearExprBuilder gap = LinearExpr.newBuilder();
                    gap.addTerm(at(y, user, s), 1)
                            .addTerm(at(y, tensor.node(), s), -1)
                            .addTerm(crosses, -1);
                    model.addLessOrEqual(gap.build(), 0);
                }
            }
        }
        double most = graph.totalWeight() / stages * (1 + tolerance);
        double unit = Math.max(most, 1e-30);
        for (int s = 0; s < stages; s++) {
            LinearExprBuilder work = LinearExpr.newBuilder();
            double always = 0;
            for (int i = 0; i < graph.nodes(); i++) {
                double weight = graph.weight(i) / unit;
                if (s == 0) {
                    always += weight;
                } else {
                    work.addTerm(at(y, i, s), weight);
                }
                if (s + 1 < stages) {
                    work.addTerm(at(y, i, s + 1), -weight);
                }
            }
            model.addLessOrEqual(work.build(), 1 - always);
            LinearExprBuilder members = LinearExpr.newBuilder();
            for (int i = 0; i < graph.nodes(); i++) {
                if (s > 0) {
                    members.addTerm(at(y, i, s), 1);
                }
                if (s + 1 < stages) {
                    members.addTerm(at(y, i, s + 1), -1);
                }
            }
            model.addGreaterOrEqual(members.build(), s == 0 ? 1 - graph.nodes() : 1);
        }
        model.minimize(objective.build());
        ModelSolver solver = new ModelSolver("highs");
        solver.setTimeLimit(limit);
        solver.setSolverSpecificParameters("output_flag=false\nmip_rel_gap=" + GAP + "\nmip_max_nodes=" + MAX_NODES);
        SolveStatus status = solver.solve(model);
        if (status != SolveStatus.OPTIMAL && status != SolveStatus.FEASIBLE) {
            return null;
        }
        int[] stageByNode = new int[graph.nodes()];
        for (int i = 0; i < graph.nodes(); i++) {
            for (int s = 1; s < stages; s++) {
                stageByNode[i] += solver.getValue(at(y, i, s)) > 0.5 ? 1 : 0;
            }
        }
        return stageByNode;
    }

    private static Variable at(List<List<@Nullable Variable>> y, int node, int stage) {
        Variable variable = y.get(node).get(stage);
        if (variable == null) {
            throw new IllegalStateException("The stage (" + stage + ") must be above 0.");
        }
        return variable;
    }

    private static com.google.ortools.modelbuilder.LinearArgument difference(Variable a, Variable b) {
        return LinearExpr.newBuilder().addTerm(a, 1).addTerm(b, -1).build();
    }
}

package dev.drover.ir.pass;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Graph.Alias;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Makes the form that planning and lowering take. Needs: any graph. Establishes: calls and fusions are inlined, loops of known length
 * up to the limit unrolled, index arithmetic folded, marks of shardings turned into annotations, dead code gone; instructions of the
 * entry yield arrays, except ops of several results, which only {@code get-tuple-element} uses, tuples that a loop or conditional
 * that stayed takes, and the root: one tuple of arrays, whatever the nesting was. Aliases follow. Parameters keep names and order.
 */
public final class Flatten {
    /** Enough for a thousand layers; a planner has no use for more. */
    public static final int DEFAULT_MAX_INSTRUCTIONS = 400_000;

    private Flatten() {}

    public static Graph run(Graph graph) {
        return run(graph, DEFAULT_MAX_INSTRUCTIONS);
    }

    /** The same step on the flat graph: inputs and outputs keep their order, and so their roles. */
    public static TrainingStep run(TrainingStep step) {
        return new TrainingStep(run(step.graph()), step.inputs(), step.outputs());
    }

    /**
     * @param maxInstructions that unrolling may lead to
     */
    public static Graph run(Graph graph, int maxInstructions) {
        Graph flat = new Flattener(maxInstructions, graph).run(graph);
        List<Alias> aliases = new ArrayList<>();
        for (Alias alias : graph.aliases()) {
            int leaf = leaf(graph.entry().root().shape(), alias.outputIndex());
            aliases.add(new Alias(List.of(leaf), alias.parameter(), alias.parameterIndex(), alias.must()));
        }
        return ShardingAnnotations.run(new Graph(flat.name(), flat.entry(), aliases, flat.attributes()));
    }

    /** Position among the leaves of the element that a path leads to. */
    private static int leaf(Shape shape, List<Integer> path) {
        int before = 0;
        Shape at = shape;
        for (int index : path) {
            List<Shape> elements = ((TupleShape) at).elements();
            for (int i = 0; i < index; i++) {
                before += elements.get(i).leaves().size();
            }
            at = elements.get(index);
        }
        return before;
    }

    private static final class Flattener extends Rewriter {
        private final int maxInstructions;
        private final Instruction entryRoot;

        Flattener(int maxInstructions, Graph graph) {
            this.maxInstructions = maxInstructions;
            this.entryRoot = graph.entry().root();
        }

        @Override
        Tree rewrite(Scope scope, Instruction old, List<Tree> operands, String suffix) {
            Computation body = Inlining.body(old.op());
            if (body != null) {
                return inline(scope, body, operands, suffix);
            }
            Tree unrolled = UnrollLoops.unrolled(this, scope, old, operands, suffix, maxInstructions);
            return unrolled != null ? unrolled : super.rewrite(scope, old, operands, suffix);
        }

        @Override
        Tree make(Scope scope, Op op, List<Instruction> operands, String name, Map<String, String> annotations) {
            return FoldConstants.folded(scope, op, operands, name, annotations);
        }

        @Override
        Instruction root(Scope scope, Instruction oldRoot, Tree value) {
            if (oldRoot != entryRoot) {
                return super.root(scope, oldRoot, value);
            }
            List<Instruction> leaves = scope.leaves(value);
            return scope.add(new Tuple(leaves.size()), leaves, oldRoot.name(), oldRoot.annotations());
        }
    }
}

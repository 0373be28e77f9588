package dev.drover.ir.pass;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.While;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Repeats the bodies of {@code while} loops whose number of turns follows from constants: the condition is evaluated on what is
 * known of the state, turn by turn, so any loop that counts in integers is found, whatever its form (JAX's scan is {@code i < n}
 * with {@code i + 1} in the body).
 *
 * <pre>
 * w = while(tuple(0, x)), condition: i < 2, body: (i + 1, x * y.i)   =>   multiply.iter0 = x * y.iter0
 *                                                                         multiply.iter1 = multiply.iter0 * y.iter1
 * </pre>
 *
 * Loops that would make a computation larger than the limit stay.
 */
public final class UnrollLoops {
    private UnrollLoops() {}

    /**
     * @param maxInstructions that a computation may have afterwards
     */
    public static Graph run(Graph graph, int maxInstructions) {
        return new Rewriter() {
            @Override
            Tree rewrite(Scope scope, Instruction old, List<Tree> operands, String suffix) {
                Tree unrolled = unrolled(this, scope, old, operands, suffix, maxInstructions);
                return unrolled != null ? unrolled : super.rewrite(scope, old, operands, suffix);
            }
        }.run(graph);
    }

    /** The state after the last turn, or null if the instruction is no loop that can be unrolled. */
    static @Nullable Tree unrolled(
            Rewriter rewriter, Scope scope, Instruction old, List<Tree> operands, String suffix, int maxInstructions) {
        if (!(old.op() instanceof While loop)) {
            return null;
        }
        long room = (long) maxInstructions - scope.builder().size();
        long turns = turns(loop, known(operands.get(0)), room / Math.max(1, size(loop.body())));
        if (turns < 0) {
            return null;
        }
        Tree state = operands.get(0);
        for (long turn = 0; turn < turns; turn++) {
            state = rewriter.inline(scope, loop.body(), List.of(state), suffix + ".iter" + turn);
        }
        return state;
    }

    /** How often the body runs, or -1 if that is not known or more than the limit. */
    static long turns(While loop, Known start, long limit) {
        Known state = start;
        for (long turn = 0; turn <= limit; turn++) {
            if (!(Known.root(loop.condition(), List.of(state)) instanceof Known.Whole goOn)) {
                return -1;
            }
            if (goOn.value().asLong(0) == 0) {
                return turn;
            }
            state = Known.root(loop.body(), List.of(state));
        }
        return -1;
    }

    /** Instructions with those of callees, loops counted once. */
    private static long size(Computation computation) {
        long size = 0;
        for (Instruction instruction : computation.instructions()) {
            size++;
            for (Computation callee : instruction.op().calls()) {
                size += size(callee);
            }
        }
        return size;
    }

    private static Known known(Tree value) {
        if (value instanceof Tree.Node node) {
            return new Known.Parts(
                    node.elements().stream().map(UnrollLoops::known).toList());
        }
        Instruction instruction = ((Tree.Leaf) value).instruction();
        Literal constant = Known.constant(instruction);
        return constant == null ? Known.NOTHING : new Known.Whole(constant);
    }
}

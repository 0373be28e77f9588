package dev.drover.ir.pass;

import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Call;
import dev.drover.ir.ops.Fusion;
import java.util.List;

/**
 * Puts the instructions of called computations in place of {@code call}, and of {@code fusion} if asked.
 *
 * <pre>
 * f { p = parameter(0); ROOT q = negate(p) }   =>   q = negate(a)
 * y = call(a), to_apply=f
 * </pre>
 */
public final class InlineCalls {
    private InlineCalls() {}

    public static Graph run(Graph graph, boolean fusionsToo) {
        return new Rewriter() {
            @Override
            Tree rewrite(Scope scope, Instruction old, List<Tree> operands, String suffix) {
                Tree inlined = inlined(this, scope, old, operands, suffix, fusionsToo);
                return inlined != null ? inlined : super.rewrite(scope, old, operands, suffix);
            }
        }.run(graph);
    }

    /** The value of a call, or null if the instruction is none. */
    static @org.jspecify.annotations.Nullable Tree inlined(
            Rewriter rewriter, Scope scope, Instruction old, List<Tree> operands, String suffix, boolean fusionsToo) {
        if (old.op() instanceof Call call) {
            return rewriter.inline(scope, call.computation(), operands, suffix);
        }
        if (fusionsToo && old.op() instanceof Fusion fusion) {
            return rewriter.inline(scope, fusion.computation(), operands, suffix);
        }
        return null;
    }
}

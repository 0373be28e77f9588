package dev.drover.ir.pass;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Copy;
import dev.drover.ir.ops.CustomCall;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Turns custom-calls that only mark a value into annotations of the value. Where it has another sharding already, a {@code copy} holds
 * the second.
 *
 * <pre>
 * a = add(x, y)                                                             a = add(x, y), sharding={devices=[4,1]<=[4]}
 * s = custom-call(a), custom_call_target="Sharding", sharding={devices=..}  =>
 * </pre>
 */
public final class ShardingAnnotations {
    private static final String SHARDING = "sharding";
    private static final String FRONTEND = "frontend_attributes";

    private ShardingAnnotations() {}

    public static Graph run(Graph graph) {
        IdentityHashMap<Instruction, Map<String, String>> wanted = new IdentityHashMap<>();
        for (Computation computation : graph.computations()) {
            for (Instruction instruction : computation.instructions()) {
                if (isMark(instruction)) {
                    wanted.putIfAbsent(origin(instruction.operand(0)), marks(instruction));
                }
            }
        }
        return new Rewriter() {
            @Override
            Tree rewrite(Scope scope, Instruction old, List<Tree> operands, String suffix) {
                if (isMark(old)) {
                    Map<String, String> marks = marks(old);
                    Map<String, String> there = annotations(origin(old.operand(0)));
                    if (marks.isEmpty() || there.entrySet().containsAll(marks.entrySet())) {
                        return operands.get(0);
                    }
                    if (operands.get(0) instanceof Tree.Leaf leaf) {
                        return new Tree.Leaf(
                                scope.add(new Copy(), List.of(leaf.instruction()), old.name() + suffix, marks));
                    }
                }
                return super.rewrite(scope, old, operands, suffix);
            }

            @Override
            Map<String, String> annotations(Instruction old) {
                return ShardingAnnotations.annotations(old, wanted);
            }
        }.run(graph);
    }

    private static boolean isMark(Instruction instruction) {
        return instruction.op() instanceof CustomCall call
                && call.isMark()
                && instruction.operands().size() == 1;
    }

    /** The value that a chain of marks marks. */
    private static Instruction origin(Instruction instruction) {
        Instruction at = instruction;
        while (isMark(at)) {
            at = at.operand(0);
        }
        return at;
    }

    private static Map<String, String> marks(Instruction mark) {
        Map<String, String> marks = new LinkedHashMap<>();
        for (String name : List.of(SHARDING, FRONTEND)) {
            @Nullable String value = mark.annotations().get(name);
            if (value != null) {
                marks.put(name, value);
            }
        }
        return marks;
    }

    /** Its own annotations, and those of its first mark if it has no sharding. */
    private static Map<String, String> annotations(
            Instruction old, IdentityHashMap<Instruction, Map<String, String>> wanted) {
        Map<String, String> marks = wanted.get(old);
        if (marks == null || old.annotations().containsKey(SHARDING)) {
            return old.annotations();
        }
        Map<String, String> ordered = new LinkedHashMap<>(old.annotations());
        marks.forEach(ordered::putIfAbsent);
        return java.util.Collections.unmodifiableMap(ordered);
    }
}

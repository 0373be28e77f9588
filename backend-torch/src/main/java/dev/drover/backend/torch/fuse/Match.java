package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.ir.eval.PackedLiteral;
import dev.drover.ir.ops.Broadcast;
import dev.drover.ir.ops.Constant;
import dev.drover.ir.ops.Reduce;
import dev.drover.ir.ops.Reduction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Questions that patterns ask about values. Methods that find something give null if it is not there. */
final class Match {
    private final Map<Ref, List<Node>> users = new HashMap<>();
    private final List<Ref> outputs;

    Match(FlatProgram program, List<Node> order) {
        this.outputs = program.outputs();
        for (Node node : order) {
            for (Ref input : node.inputs()) {
                List<Node> list = users.computeIfAbsent(input, r -> new ArrayList<>(2));
                if (list.isEmpty() || !list.get(list.size() - 1).equals(node)) {
                    list.add(node);
                }
            }
        }
    }

    List<Node> users(Ref ref) {
        return users.getOrDefault(ref, List.of());
    }

    /** Whether only these nodes need a value. */
    boolean onlyUsedBy(Ref ref, Node... nodes) {
        return !outputs.contains(ref) && List.of(nodes).containsAll(users(ref));
    }

    static boolean is(Ref ref, String opcode) {
        return ref.op().opcode().equals(opcode);
    }

    /** The other operand of a commutative op of this opcode, or null. */
    static @Nullable Ref other(Ref ref, String opcode, Ref one) {
        if (!is(ref, opcode)) {
            return null;
        }
        return ref.input(0).equals(one) ? ref.input(1) : ref.input(1).equals(one) ? ref.input(0) : null;
    }

    /** What is repeated along the last dim, whose dims are all the others. */
    static @Nullable Ref alongLast(Ref ref) {
        if (!(ref.op() instanceof Broadcast broadcast)
                || ref.input(0).shape().rank() != ref.shape().rank() - 1) {
            return null;
        }
        for (int i = 0; i < broadcast.dimensions().size(); i++) {
            if (broadcast.dimensions().get(i) != i) {
                return null;
            }
        }
        return ref.input(0);
    }

    /** The vector that is repeated along all dims but the last. */
    static @Nullable Ref alongOthers(Ref ref) {
        return ref.op() instanceof Broadcast broadcast
                        && broadcast.dimensions().equals(List.of(ref.shape().rank() - 1))
                ? ref.input(0)
                : null;
    }

    /** The operand of a reduction over the last dim alone, started with its neutral value. */
    static @Nullable Ref overLast(@Nullable Ref ref, Reduction reduction) {
        return ref != null
                        && ref.op() instanceof Reduce reduce
                        && ref.node().results().size() == 1
                        && reduce.reduction() == reduction
                        && reduce.dimensions()
                                .equals(List.of(ref.input(0).shape().rank() - 1))
                        && isNeutral(ref.input(1), reduction)
                ? ref.input(0)
                : null;
    }

    private static boolean isNeutral(Ref init, Reduction reduction) {
        Double value = constant(init);
        return value != null
                && (reduction == Reduction.SUM
                        ? value == 0
                        : reduction == Reduction.MAX && value == Double.NEGATIVE_INFINITY);
    }

    /** The one number that a value consists of. */
    static @Nullable Double constant(@Nullable Ref ref) {
        Ref at = ref;
        while (at != null && at.op() instanceof Broadcast) {
            at = at.input(0);
        }
        if (at != null && at.op() instanceof Constant constant) {
            PackedLiteral values = constant.values();
            if (values != null && (values.isSplat() || constant.shape().elements() == 1)) {
                return values.unpack().asDouble(0);
            }
        }
        return null;
    }

    /** Of a product or sum with a number: the other operand. */
    static @Nullable Ref withConstant(@Nullable Ref ref, String opcode, double value) {
        if (ref == null || !is(ref, opcode)) {
            return null;
        }
        for (int i = 0; i < 2; i++) {
            Double number = constant(ref.input(i));
            if (number != null && Math.abs(number - value) <= 1e-6 * Math.abs(value)) {
                return ref.input(1 - i);
            }
        }
        return null;
    }
}

package dev.drover.ir.pass;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Copies a program instruction by instruction into new computations, callees first; subclasses say what becomes of an instruction.
 * Tuples are kept as trees and made only where an op takes one, so that a {@code get-tuple-element} of a {@code tuple} vanishes in
 * every copy. What is not needed is removed at the end.
 *
 * <pre>
 * t = tuple(a, b)                      c = add(b, b)
 * x = get-tuple-element(t), index=1  =>
 * c = add(x, x)
 * </pre>
 */
class Rewriter {
    private final IdentityHashMap<Computation, Computation> done = new IdentityHashMap<>();

    final Graph run(Graph graph) {
        return new Graph(graph.name(), computation(graph.entry()), graph.aliases(), graph.attributes());
    }

    /** The new form of a computation. */
    final Computation computation(Computation old) {
        Computation known = done.get(old);
        if (known != null) {
            return known;
        }
        Scope scope = new Scope(old.name());
        Tree[] values = new Tree[old.size()];
        // First, so that they keep their names whatever is inlined.
        for (Instruction parameter : old.parameters()) {
            values[parameter.id()] =
                    new Tree.Leaf(scope.add(parameter.op(), List.of(), parameter.name(), annotations(parameter)));
        }
        copy(scope, old, values, "");
        Instruction root = root(scope, old.root(), values[old.root().id()]);
        Computation made = DeadCode.drop(scope.builder().build(root));
        done.put(old, made);
        return made;
    }

    /** Makes the root of a computation; a tuple keeps its nesting by default. */
    Instruction root(Scope scope, Instruction oldRoot, Tree value) {
        return scope.instruction(value, oldRoot.name());
    }

    /** Copies all instructions that have no value yet; new names get the suffix. */
    final void copy(Scope scope, Computation from, Tree[] values, String suffix) {
        for (Instruction old : from.instructions()) {
            if (values[old.id()] == null) {
                List<Tree> operands = new ArrayList<>(old.operands().size());
                for (Instruction operand : old.operands()) {
                    operands.add(values[operand.id()]);
                }
                values[old.id()] = rewrite(scope, old, operands, suffix);
            }
        }
    }

    /** The value of a computation for these arguments, its instructions copied into the scope. */
    final Tree inline(Scope scope, Computation callee, List<Tree> arguments, String suffix) {
        Tree[] values = new Tree[callee.size()];
        for (Instruction old : callee.parameters()) {
            values[old.id()] = arguments.get(((Parameter) old.op()).number());
        }
        copy(scope, callee, values, suffix);
        return values[callee.root().id()];
    }

    /** What becomes of one instruction. */
    Tree rewrite(Scope scope, Instruction old, List<Tree> operands, String suffix) {
        if (old.op() instanceof Tuple) {
            return new Tree.Node(operands);
        }
        if (old.op() instanceof GetTupleElement element) {
            return scope.element(operands.get(0), element.index(), old.name() + suffix, old.annotations());
        }
        List<Instruction> made = new ArrayList<>(operands.size());
        for (int i = 0; i < operands.size(); i++) {
            made.add(scope.instruction(operands.get(i), old.operand(i).name() + suffix));
        }
        return make(scope, copied(old.op()), made, old.name() + suffix, annotations(old));
    }

    /** Adds an instruction, or something that is as good. */
    Tree make(Scope scope, Op op, List<Instruction> operands, String name, Map<String, String> annotations) {
        return new Tree.Leaf(scope.add(op, operands, name, annotations));
    }

    /** What the copy of an instruction is annotated with. */
    Map<String, String> annotations(Instruction old) {
        return old.annotations();
    }

    private Op copied(Op op) {
        List<Computation> callees = op.calls();
        return callees.isEmpty()
                ? op
                : op.withCalls(callees.stream().map(this::computation).toList());
    }
}

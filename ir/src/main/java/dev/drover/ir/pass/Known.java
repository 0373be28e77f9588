package dev.drover.ir.pass;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Call;
import dev.drover.ir.ops.Constant;
import dev.drover.ir.ops.Fusion;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What can be said about a value without running the program: small integers and predicates, and tuples of what is known. */
sealed interface Known {
    /** Arrays of more elements are not followed. */
    int MAX_ELEMENTS = 16;

    /** Nothing is known. */
    record Nothing() implements Known {}

    /** The value. */
    record Whole(Literal value) implements Known {}

    /** Something of each element. */
    record Parts(List<Known> elements) implements Known {
        public Parts {
            elements = List.copyOf(elements);
        }
    }

    Known NOTHING = new Nothing();

    /** Whether values of a shape are followed. */
    static boolean follows(Shape shape) {
        return shape instanceof ArrayShape array
                && !array.dtype().isFloat()
                && !array.dtype().isComplex()
                && array.elements() <= MAX_ELEMENTS;
    }

    /** The value of a constant that is followed, or null. */
    static @Nullable Literal constant(Instruction instruction) {
        return follows(instruction.shape())
                        && instruction.op() instanceof Constant constant
                        && constant.values() != null
                ? constant.values().unpack()
                : null;
    }

    /** What an op yields for known operands, or null: only ops that are functions of their operands are tried. */
    static @Nullable Literal fold(Instruction instruction, List<Literal> operands) {
        Op op = instruction.op();
        if (operands.isEmpty()
                || !follows(instruction.shape())
                || op.hasSideEffect()
                || !op.calls().isEmpty()) {
            return null;
        }
        try {
            return op.evaluate(new NoContext(), instruction, List.copyOf(operands))
                    .literal();
        } catch (NeedsContextException e) {
            return null;
        }
    }

    /** What is known of a computation's root when this is known of its arguments. */
    static Known root(Computation computation, List<Known> arguments) {
        List<Known> known = new ArrayList<>(computation.size());
        for (Instruction instruction : computation.instructions()) {
            known.add(of(instruction, arguments, known));
        }
        return known.get(computation.root().id());
    }

    private static Known of(Instruction instruction, List<Known> arguments, List<Known> known) {
        Op op = instruction.op();
        if (op instanceof Parameter parameter) {
            return arguments.get(parameter.number());
        }
        if (op instanceof Constant) {
            Literal value = constant(instruction);
            return value == null ? NOTHING : new Whole(value);
        }
        List<Known> operands =
                instruction.operands().stream().map(o -> known.get(o.id())).toList();
        if (op instanceof Tuple) {
            return new Parts(operands);
        }
        if (op instanceof GetTupleElement element) {
            return operands.get(0) instanceof Parts parts ? parts.elements().get(element.index()) : NOTHING;
        }
        if (op instanceof Call call) {
            return root(call.computation(), operands);
        }
        if (op instanceof Fusion fusion) {
            return root(fusion.computation(), operands);
        }
        List<Literal> values = new ArrayList<>(operands.size());
        for (Known operand : operands) {
            if (!(operand instanceof Whole whole)) {
                return NOTHING;
            }
            values.add(whole.value());
        }
        Literal value = fold(instruction, values);
        return value == null ? NOTHING : new Whole(value);
    }

    /** Thrown when an op asks for more than its operands. */
    final class NeedsContextException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NeedsContextException() {
            super("The value must follow from the operands alone.", null, false, false);
        }
    }

    /** Where there is no program around the op. */
    record NoContext() implements EvalContext {
        @Override
        public Value argument(int number) {
            throw new NeedsContextException();
        }

        @Override
        public Value call(Computation computation, List<Value> arguments) {
            throw new NeedsContextException();
        }

        @Override
        public int device() {
            throw new NeedsContextException();
        }

        @Override
        public int devices() {
            throw new NeedsContextException();
        }

        @Override
        public List<List<Value>> exchange(List<Value> mine) {
            throw new NeedsContextException();
        }
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;

/** Checks that ops make of their operands; failures are {@link IllegalArgumentException}s. */
final class Check {
    private Check() {}

    /** Fails with the formatted message if the condition does not hold. */
    static void that(boolean condition, String format, Object... arguments) {
        if (!condition) {
            throw new IllegalArgumentException(String.format(Locale.ROOT, format, arguments));
        }
    }

    /** An op takes exactly this many operands. */
    static void count(Op op, List<Shape> operands, int count) {
        that(operands.size() == count, "The operands (%s) of %s must be %s.", operands.size(), op.opcode(), count);
    }

    /** An op takes an even number of operands, at least two: as many arrays as initial values. */
    static int halves(Op op, List<Shape> operands) {
        that(
                operands.size() >= 2 && operands.size() % 2 == 0,
                "The operands (%s) of %s must be arrays and as many initial values.",
                operands.size(),
                op.opcode());
        return operands.size() / 2;
    }

    /** The operand as an array. */
    static ArrayShape array(Op op, List<Shape> operands, int index) {
        if (operands.get(index) instanceof ArrayShape array) {
            return array;
        }
        throw new IllegalArgumentException(
                "The operand " + index + " (" + operands.get(index) + ") of " + op.opcode() + " must be an array.");
    }

    /** Dim numbers are in range and occur once. */
    static void dims(Op op, String name, List<Integer> dims, int rank) {
        HashSet<Integer> seen = new HashSet<>();
        for (int dim : dims) {
            that(
                    dim >= 0 && dim < rank && seen.add(dim),
                    "The %s (%s) of %s must be distinct dims below %s.",
                    name,
                    dims,
                    op.opcode(),
                    rank);
        }
    }

    /** The only operand, which must be an array. */
    static ArrayShape onlyArray(Op op, List<Shape> operands) {
        count(op, operands, 1);
        return array(op, operands, 0);
    }

    /** Operands that must be of one shape, as many as given. */
    static ArrayShape sameArrays(Op op, List<Shape> operands, int count) {
        count(op, operands, count);
        ArrayShape first = array(op, operands, 0);
        for (int i = 1; i < count; i++) {
            that(
                    array(op, operands, i).equals(first),
                    "The shapes (%s and %s) of the operands of %s must be equal.",
                    first,
                    operands.get(i),
                    op.opcode());
        }
        return first;
    }

    /** A start index: an integer scalar. */
    static void startIndex(Op op, List<Shape> operands, int index) {
        ArrayShape shape = array(op, operands, index);
        that(
                shape.rank() == 0 && shape.dtype().isInteger(),
                "The operand %s (%s) of %s must be an integer scalar.",
                index,
                shape,
                op.opcode());
    }

    /** Whether two shapes have the same dims, whatever their types. */
    static boolean sameDims(ArrayShape left, ArrayShape right) {
        return left.withDType(right.dtype()).equals(right);
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Evaluates single ops in tests, and makes literals. */
final class Apply {
    private Apply() {}

    /** A computation of one op on parameters. */
    static Computation computation(Op op, List<? extends Shape> shapes) {
        ComputationBuilder builder = new ComputationBuilder("one");
        List<Instruction> parameters = new ArrayList<>();
        for (Shape shape : shapes) {
            parameters.add(builder.parameter("p", shape));
        }
        return builder.build(builder.add(op, parameters));
    }

    static Value apply(Op op, Literal... operands) {
        List<Literal> list = Arrays.asList(operands);
        return Evaluator.evaluate(
                computation(op, list.stream().map(Literal::shape).toList()), list);
    }

    static Literal literal(Op op, Literal... operands) {
        return apply(op, operands).literal();
    }

    /** Element of a tuple value. */
    static Literal element(Value tuple, int index) {
        return ((Value.Tuple) tuple).elements().get(index).literal();
    }

    static Literal f32(long[] dims, double... values) {
        return Literal.ofDoubles(ArrayShape.of(DType.F32, dims), values);
    }

    static Literal s32(long[] dims, long... values) {
        return Literal.ofLongs(ArrayShape.of(DType.S32, dims), values);
    }

    static long[] dims(long... dims) {
        return dims;
    }

    /** Small whole numbers, so that sums are exact in any order. */
    static Literal random(Random random, DType dtype, long... dims) {
        ArrayShape shape = ArrayShape.of(dtype, dims);
        int n = (int) shape.elements();
        if (dtype.isFloat()) {
            return Literal.ofDoubles(
                    shape, random.ints(n, -4, 5).mapToDouble(i -> i).toArray());
        }
        return Literal.ofLongs(shape, random.ints(n, -4, 5).mapToLong(i -> i).toArray());
    }

    /** Numbers in [-2, 2). */
    static Literal f64(Random random, long... dims) {
        ArrayShape shape = ArrayShape.of(DType.F64, dims);
        return Literal.ofDoubles(shape, random.doubles(shape.elements(), -2, 2).toArray());
    }

    /** Integers in [low, high). */
    static Literal indices(Random random, int low, int high, long... dims) {
        ArrayShape shape = ArrayShape.of(DType.S32, dims);
        return Literal.ofLongs(
                shape,
                random.ints(shape.elements(), low, high).mapToLong(i -> i).toArray());
    }

    /** The position of an index in row-major order. */
    static int at(ArrayShape shape, long... index) {
        long[] strides = shape.strides();
        long offset = 0;
        for (int i = 0; i < strides.length; i++) {
            if (index[i] < 0 || index[i] >= shape.dim(i)) {
                throw new IndexOutOfBoundsException(Arrays.toString(index) + " in " + shape);
            }
            offset += index[i] * strides[i];
        }
        return (int) offset;
    }

    /** The index at a position. */
    static long[] index(ArrayShape shape, int position) {
        long[] strides = shape.strides();
        long[] index = new long[strides.length];
        for (int i = 0; i < strides.length; i++) {
            index[i] = position / strides[i] % shape.dim(i);
        }
        return index;
    }

    /** The op's attributes as printed. */
    static String printed(Op op) {
        StringBuilder text = new StringBuilder();
        op.print(new OpWriter() {
            @Override
            public void payload(String payload) {
                text.append('(').append(payload).append(')');
            }

            @Override
            public void attribute(String name, String value) {
                text.append(text.length() == 0 ? "" : ", ")
                        .append(name)
                        .append('=')
                        .append(value);
            }

            @Override
            public void computation(String name, Computation computation) {
                attribute(name, "%" + computation.name());
            }

            @Override
            public void computations(String name, List<Computation> computations) {
                attribute(
                        name,
                        computations.stream().map(c -> "%" + c.name()).toList().toString());
            }
        });
        return text.toString();
    }
}

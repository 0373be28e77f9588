package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.ops.Binary;
import dev.drover.ir.ops.BinaryKind;
import dev.drover.ir.ops.BitcastConvert;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.ops.Convert;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Unary;
import dev.drover.ir.ops.UnaryKind;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every elementwise op in every element type that it accepts, against the reference evaluator. */
class ElementwiseKernelsTest {
    private static final TorchMemory MEMORY = new TorchMemory();
    private final Random random = new Random(7);

    private static boolean accepts(Op op, ArrayShape... operands) {
        try {
            return op.inferShape(List.<Shape>of(operands)) instanceof ArrayShape;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private void check(Op op, ArrayShape... shapes) {
        Computation computation =
                Check.build(List.of(shapes), (b, p) -> b.builder().add(op, p));
        List<Literal> inputs = new ArrayList<>();
        for (ArrayShape shape : shapes) {
            inputs.add(Check.special(shape, random));
        }
        Check.same(MEMORY, computation, inputs);
    }

    @ParameterizedTest
    @EnumSource
    void unary(UnaryKind kind) {
        int checked = 0;
        for (DType dtype : DType.values()) {
            ArrayShape shape = ArrayShape.of(dtype, 3, 17);
            if (accepts(new Unary(kind), shape)) {
                check(new Unary(kind), shape);
                checked++;
            }
        }
        assertThat(checked).isPositive();
    }

    @ParameterizedTest
    @EnumSource
    void binary(BinaryKind kind) {
        int checked = 0;
        for (DType dtype : DType.values()) {
            ArrayShape shape = ArrayShape.of(dtype, 5, 31);
            if (accepts(new Binary(kind), shape, shape)) {
                check(new Binary(kind), shape, shape);
                checked++;
            }
        }
        assertThat(checked).isPositive();
    }

    @ParameterizedTest
    @EnumSource
    void compare(Compare.Direction direction) {
        for (DType dtype : DType.values()) {
            ArrayShape shape = ArrayShape.of(dtype, 4, 11);
            for (Compare.Type type : new Compare.Type[] {null, Compare.Type.TOTALORDER}) {
                Compare op = new Compare(direction, type);
                if (accepts(op, shape, shape)) {
                    check(op, shape, shape);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void convert(DType from) {
        for (DType to : DType.values()) {
            if (accepts(new Convert(to), ArrayShape.of(from, 40))) {
                check(new Convert(to), ArrayShape.of(from, 40));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void bitcastConvert(DType from) {
        for (DType to : DType.values()) {
            ArrayShape shape = ArrayShape.of(from, 6, 8);
            if (from.bits() == to.bits() && accepts(new BitcastConvert(to), shape)) {
                // Without NaN: its payload may change on the way.
                Check.same(
                        MEMORY,
                        Check.build(List.of(shape), (b, p) -> b.builder().add(new BitcastConvert(to), p)),
                        5);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void clampAndSelect(DType dtype) {
        ArrayShape shape = ArrayShape.of(dtype, 3, 9);
        if (accepts(new dev.drover.ir.ops.Clamp(), ArrayShape.scalar(dtype), shape, ArrayShape.scalar(dtype))) {
            Literal low = Literal.scalar(dtype, 0);
            Literal high = Literal.scalar(dtype, 2);
            Computation computation = Check.build(
                    List.of(low.shape(), shape, high.shape()),
                    (b, p) -> b.builder().add(new dev.drover.ir.ops.Clamp(), p));
            Check.same(MEMORY, computation, List.of(low, Check.special(shape, random), high));
        }
        ArrayShape pred = shape.withDType(DType.PRED);
        check(new dev.drover.ir.ops.Select(), pred, shape, shape);
        check(new dev.drover.ir.ops.Select(), ArrayShape.scalar(DType.PRED), shape, shape);
    }
}

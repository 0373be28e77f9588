package dev.drover.runtime.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Initial values come in pieces, so that they may be larger than a buffer and than the heap. */
class InitialStateTest {

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F64", "F32", "BF16", "F16", "F8E5M2", "S32", "S64", "U8", "S16"})
    void piecesAreThoseOfTheWhole(DType dtype) {
        ArrayShape whole = ArrayShape.of(dtype, 12, 10);
        Distribution distribution = dtype.isFloat() ? Distribution.normal(0.5) : Distribution.parse("integers(0,9)");
        InitialValue rule = new InitialValue("w", whole, distribution);
        InitialState state = new InitialState(7, Map.of(3, rule));
        List<TensorSlice> slices = List.of(
                new TensorSlice(whole, List.of()),
                new TensorSlice(whole, List.of(new TensorSlice.Cut(0, 3, 2, 1))),
                new TensorSlice(whole, List.of(new TensorSlice.Cut(0, 6, 2, 1), new TensorSlice.Cut(0, 3, 2, 0))));
        for (TensorSlice slice : slices) {
            Literal made = Literal.zeros(slice.local());
            long elementBytes = dtype.sizeBytes(1);
            long[] next = {0};
            boolean any = state.make(
                    new Feed(new ValueRef("w", false), 3, slice, true, null),
                    (shape, offset, bytes) -> {
                        assertThat(shape).isEqualTo(slice.local());
                        assertThat(offset).isEqualTo(next[0]);
                        assertThat(bytes.remaining()).isBetween(1, 32);
                        next[0] += bytes.remaining();
                        Bits.read(bytes, made, (int) (offset / elementBytes), (int) (bytes.remaining() / elementBytes));
                    },
                    32);
            assertThat(any).isTrue();
            assertThat(next[0]).isEqualTo(slice.local().sizeBytes());
            assertThat(made).isEqualTo(slice.extract(InitialValues.fill(rule, 7)));
        }
    }
}

package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class GatherTest {
    @ParameterizedTest
    @EnumSource
    void readsEachElementWhereTheDefinitionSays(IndexedCase c) {
        Random random = new Random(5);
        Literal array = Apply.random(random, DType.F32, c.arrayShape(DType.F32).dims());
        Literal indices = Apply.indices(random, -3, 12, c.indexShape().dims());
        Literal result = Apply.literal(c.gather(), array, indices);
        for (int i = 0; i < result.size(); i++) {
            long[] at = c.arrayIndex(indices, Apply.index(result.shape(), i), true);
            assertThat(result.asDouble(i)).isEqualTo(array.asDouble(Apply.at(array.shape(), at)));
        }
    }

    @Test
    void printsBatchingDimsOnlyWhereTheyAre() {
        assertThat(Apply.printed(IndexedCase.ROWS.gather()))
                .isEqualTo("offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2,"
                        + " slice_sizes={1,5}");
        assertThat(Apply.printed(IndexedCase.CROSSED.gather()))
                .isEqualTo("offset_dims={}, collapsed_slice_dims={2}, start_index_map={2}, operand_batching_dims={0,1},"
                        + " start_indices_batching_dims={1,0}, index_vector_dim=3, slice_sizes={1,1,1}");
    }

    @ParameterizedTest
    @EnumSource(names = {"ROWS", "BATCHED", "KEPT", "POINTS"})
    void factors(IndexedCase c) {
        List<dev.drover.ir.type.Shape> operands = List.of(c.arrayShape(DType.F32), c.indexShape());
        String rule =
                c.gather().factors(operands, c.gather().inferShape(operands)).toString();
        assertThat(rule)
                .isEqualTo(
                        switch (c) {
                            case ROWS -> "(a b, c d) -> c d b; a reduction sum";
                            case BATCHED -> "(a d b, d e 1) -> a d e c; b whole; c whole";
                            case KEPT -> "(a b, c 1) -> c 1 b; a reduction sum";
                            case POINTS -> "(a b c, d e) -> b d; a reduction sum; c reduction sum; e whole";
                            default -> "";
                        });
    }

    @Test
    void refusesWindowsLargerThanTheArray() {
        Gather gather = new Gather(IndexedCase.ROWS.dims(), List.of(1L, 6L));
        assertThatThrownBy(() ->
                        gather.inferShape(List.of(ArrayShape.of(DType.F32, 7, 5), ArrayShape.of(DType.S32, 3, 4))))
                .hasMessage(
                        "The slice_sizes ([1, 6]) of gather must fit its operand (f32[7,5]), and be 1 where the result"
                                + " lacks the dim.");
    }
}

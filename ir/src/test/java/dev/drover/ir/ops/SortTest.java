package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import org.junit.jupiter.api.Test;

class SortTest {
    private static Computation lessByFirst(DType... types) {
        ComputationBuilder builder = new ComputationBuilder("less");
        OpBuilder build = new OpBuilder(builder);
        Instruction[] first = new Instruction[2];
        for (int i = 0; i < types.length; i++) {
            for (int side = 0; side < 2; side++) {
                Instruction parameter = build.parameter("x", ArrayShape.scalar(types[i]));
                if (i == 0) {
                    first[side] = parameter;
                }
            }
        }
        return builder.build(build.compare(first[0], first[1], Compare.Direction.LT));
    }

    /** Along dim 0, stably: equal keys keep the order of their partners. */
    @Test
    void sortsTogetherAlongADim() {
        Sort op = new Sort(0, true, lessByFirst(DType.S32, DType.F32));
        Value result = Apply.apply(
                op,
                Apply.s32(Apply.dims(4, 2), 3, 0, 1, 5, 3, 2, 1, 2),
                Apply.f32(Apply.dims(4, 2), 10, 11, 20, 21, 30, 31, 40, 41));
        assertThat(Apply.element(result, 0).longs()).containsExactly(1, 0, 1, 2, 3, 2, 3, 5);
        assertThat(Apply.element(result, 1).doubles()).containsExactly(20, 11, 40, 31, 10, 41, 30, 21);
        assertThat(Apply.printed(op)).isEqualTo("dimensions={0}, is_stable=true, to_apply=%less");
    }

    @Test
    void sortsOneArray() {
        Literal x = Apply.f32(Apply.dims(2, 3), 3, 1, 2, 0, -1, 5);
        assertThat(Apply.literal(new Sort(1, false, lessByFirst(DType.F32)), x).doubles())
                .containsExactly(1, 2, 3, -1, 0, 5);
    }

    @Test
    void topKTakesTheEarlierOfEquals() {
        Value result = Apply.apply(new TopK(2, true), Apply.f32(Apply.dims(2, 4), 1, 7, 7, 2, Double.NaN, 3, 9, 3));
        assertThat(Apply.element(result, 0).doubles()).containsExactly(7, 7, Double.NaN, 9);
        assertThat(Apply.element(result, 1).longs()).containsExactly(1, 2, 0, 2);
        Value smallest = Apply.apply(new TopK(3, false), Apply.s32(Apply.dims(4), 4, -2, 4, 0));
        assertThat(Apply.element(smallest, 0).longs()).containsExactly(-2, 0, 4);
        assertThat(Apply.element(smallest, 1).longs()).containsExactly(1, 3, 0);
    }
}

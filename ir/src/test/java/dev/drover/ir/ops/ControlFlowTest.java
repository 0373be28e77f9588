package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ControlFlowTest {
    private static Value run(String hlo, Literal... arguments) {
        return Evaluator.evaluate(HloReader.read("test", hlo).entry(), List.of(arguments));
    }

    private static Literal s32(long value) {
        return Literal.ofLongs(ArrayShape.scalar(DType.S32), new long[] {value});
    }

    private static Literal f32(double value) {
        return Literal.scalar(DType.F32, value);
    }

    /** Doubles x, n times. */
    private static final String LOOP = """
            HloModule loop

            body {
              s = (s32[], f32[]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              x = f32[] get-tuple-element(s), index=1
              one = s32[] constant(1)
              next = s32[] add(i, one)
              twice = f32[] add(x, x)
              ROOT t = (s32[], f32[]) tuple(next, twice)
            }

            condition {
              s = (s32[], f32[]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              n = s32[] constant(5)
              ROOT more = pred[] compare(i, n), direction=LT
            }

            ENTRY e {
              i = s32[] parameter(0)
              x = f32[] parameter(1)
              start = (s32[], f32[]) tuple(i, x)
              ROOT w = (s32[], f32[]) while(start), condition=condition, body=body
            }
            """;

    @Test
    void whileRepeatsAsLongAsTheConditionHolds() {
        assertThat(run(LOOP, s32(2), f32(3))).isEqualTo(new Value.Tuple(List.of(s32(5), f32(24))));
        assertThat(run(LOOP, s32(7), f32(3))).isEqualTo(new Value.Tuple(List.of(s32(7), f32(3))));
    }

    /** Two adds and a comparison in each of five turns. */
    @Test
    void whileCountsTheTurnsOfACountedLoop() {
        Instruction loop = HloReader.read("test", LOOP).entry().root();
        assertThat(((While) loop.op()).turns()).isEqualTo(5);
        long one = Call.flops(((While) loop.op()).condition()) + Call.flops(((While) loop.op()).body());
        assertThat(loop.op().flops(loop.operandShapes(), loop.shape())).isEqualTo(5 * one);
        String odd = LOOP.replace("next = s32[] add(i, one)", "next = s32[] multiply(i, one)");
        assertThat(((While) HloReader.read("test", odd).entry().root().op()).turns())
                .isEqualTo(-1);
        String twos = LOOP.replace("one = s32[] constant(1)", "one = s32[] constant(2)")
                .replace("add(i, one)", "add(one, i)");
        assertThat(((While) HloReader.read("test", twos).entry().root().op()).turns())
                .isEqualTo(3);
    }

    @Test
    void whileRefusesABodyOfAnotherShape() {
        assertThatThrownBy(() -> run(LOOP.replace("tuple(next, twice)", "tuple(next, next)")
                        .replace("ROOT t = (s32[], f32[])", "ROOT t = (s32[], s32[])")))
                .hasMessageContaining("The root ((s32[], s32[])) of the body (body) of while must have the shape of its"
                        + " parameter ((s32[], f32[])).");
    }

    private static String branches(String choice, String attributes) {
        return """
            HloModule branches

            twice {
              x = f32[] parameter(0)
              ROOT y = f32[] add(x, x)
            }

            square {
              x = f32[] parameter(0)
              ROOT y = f32[] multiply(x, x)
            }

            minus {
              x = f32[] parameter(0)
              ROOT y = f32[] negate(x)
            }

            ENTRY e {
              c = %s parameter(0)
              a = f32[] constant(3)
              b = f32[] constant(5)
              d = f32[] constant(7)
              ROOT r = f32[] conditional(c, %s
            }
            """.formatted(choice, attributes);
    }

    @ParameterizedTest
    @CsvSource({"0, 6", "1, 25", "2, -7", "3, -7", "-1, -7"})
    void indexedConditionalTakesTheLastBranchOutOfRange(long choice, double expected) {
        String hlo = branches("s32[]", "a, b, d), branch_computations={%twice, %square, %minus}");
        assertThat(run(hlo, s32(choice))).isEqualTo(f32(expected));
    }

    @ParameterizedTest
    @CsvSource({"1, 6", "0, 25"})
    void conditionalOfAPredTakesTheFirstIfTrue(int choice, double expected) {
        Literal predicate = Literal.scalar(DType.PRED, choice);
        assertThat(run(branches("pred[]", "a, b), true_computation=twice, false_computation=square"), predicate))
                .isEqualTo(f32(expected));
        assertThat(run(branches("pred[]", "a, b), branch_computations={twice, square}"), predicate))
                .isEqualTo(f32(expected));
    }

    @Test
    void callsFusionsAndMapsEvaluateTheirComputations() {
        String hlo = """
            HloModule calls

            difference {
              x = f32[] parameter(0)
              y = f32[] parameter(1)
              ROOT z = f32[] subtract(x, y)
            }

            each {
              x = f32[3] parameter(0)
              y = f32[3] parameter(1)
              ROOT z = f32[3] map(x, y), dimensions={0}, to_apply=difference
            }

            ENTRY e {
              x = f32[3] parameter(0)
              y = f32[3] parameter(1)
              a = f32[3] call(x, y), to_apply=each
              ROOT b = f32[3] fusion(a, y), kind=kLoop, calls=each
            }
            """;
        assertThat(run(hlo, Apply.f32(Apply.dims(3), 10, 20, 30), Apply.f32(Apply.dims(3), 1, 2, 3)))
                .isEqualTo(Apply.f32(Apply.dims(3), 8, 16, 24));
        Graph graph = HloReader.read("test", hlo);
        assertThat(Call.flops(graph.entry())).isEqualTo(6);
    }

    @Test
    void customCallsThatMarkAreTheirOperandAndOthersAreRefusedByName() {
        String hlo = """
            HloModule marks

            ENTRY e {
              x = f32[2] parameter(0)
              a = f32[2] custom-call(x), custom_call_target="Sharding", sharding={replicated}
              ROOT b = f32[2] custom-call(a), custom_call_target="%s", api_version=API_VERSION_TYPED_FFI
            }
            """;
        Literal x = Apply.f32(Apply.dims(2), 1, 2);
        assertThat(run(hlo.formatted("SPMDFullToShardShape"), x)).isEqualTo(x);
        assertThatThrownBy(() -> run(hlo.formatted("my_kernel"), x))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith(
                        "The target (my_kernel) of custom-call (b) must be one that Drover can evaluate.");
    }

    @Test
    void customCallTopK() {
        String hlo = """
            HloModule top

            ENTRY e {
              x = f32[2,3] parameter(0)
              ROOT t = (f32[2,2], s32[2,2]) custom-call(x), custom_call_target="TopK"
            }
            """;
        Value top = run(hlo, Apply.f32(Apply.dims(2, 3), 1, 3, 2, 9, 7, 8));
        assertThat(Apply.element(top, 0).doubles()).containsExactly(3, 2, 9, 8);
        assertThat(Apply.element(top, 1).longs()).containsExactly(1, 2, 0, 2);
    }
}

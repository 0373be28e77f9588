package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What {@code verify} calls wrong: a difference that rounding explains is none, a mistake is one, whatever the model. */
class ComparisonTest {
    private static final ArrayShape SHAPE = ArrayShape.of(DType.F32, 3);

    private static Literal values(double... values) {
        return Literal.ofDoubles(SHAPE, values);
    }

    private static Comparison compare(Literal got, Literal expected, Literal... runs) {
        return Comparison.of(
                List.of(got),
                List.of(expected),
                new RoundingSpread((first, end) -> IntStream.range(first, end)
                        .mapToObj(i -> List.of(runs[i % runs.length]))
                        .toList()));
    }

    @Test
    void anElementThatRoundingMovesAsFarIsNotWrong() {
        Comparison result = compare(values(1, 0.51, 0), values(1, 0.5, 0), values(1, 0.5, 0), values(1, 0.502, 0));
        assertThat(result.equal()).isTrue();
        assertThat(result.sensitive()).isEqualTo(1);
        assertThat(result.worst()).isZero();
        assertThat(result.errors()).contains("1 element that rounding");
    }

    @Test
    void anElementThatRoundingMovesLessIsWrong() {
        Comparison result = compare(values(1, 0.6, 0), values(1, 0.5, 0), values(1, 0.5, 0), values(1, 0.502, 0));
        assertThat(result.equal()).isFalse();
        assertThat(result.worst()).isGreaterThan(0.09);
    }

    /** Of 96 elements whose update's sign rounding turns, eight may be missed by twelve draws; not thirty. */
    @Test
    void asManyElementsAsDrawsMissAreNotWrong() {
        int size = 200;
        double[][] draws = new double[RoundingSpread.MOST_DRAWS][size];
        for (int i = 0; i < 96; i++) {
            draws[i % draws.length][i] = 1;
        }
        Literal[] runs = Arrays.stream(draws).map(ComparisonTest::vector).toArray(Literal[]::new);
        double[] expected = new double[size];
        expected[199] = 1;
        for (int turned : new int[] {8, 30}) {
            double[] got = expected.clone();
            Arrays.fill(got, 100, 100 + turned, 1);
            assertThat(compare(vector(got), vector(expected), runs).equal()).isEqualTo(turned == 8);
        }
        double[] far = expected.clone();
        far[100] = 1.5;
        assertThat(compare(vector(far), vector(expected), runs).equal()).isFalse();
    }

    private static Literal vector(double... values) {
        return Literal.ofDoubles(ArrayShape.of(DType.F32, values.length), values);
    }

    @Test
    void everyRoundedResultIsMovedALittle() {
        LoadedModel model = LoadedModel.load("mlp:layers=1,hidden=8,batch=4");
        WholeStep step = new WholeStep(model.flat(), null);
        ModelInputs inputs = ModelInputs.of(model, null, 1);
        List<Literal> whole = step.outputs(inputs);
        List<TrainingStep> noisy = List.of(RoundingNoise.in(step.step(), 3), RoundingNoise.in(step.step(), 3));
        List<List<Literal>> runs = step.outputs(noisy, List.of(inputs, inputs));
        assertThat(runs.get(0)).isEqualTo(runs.get(1));
        List<Literal> moved = runs.get(0);
        int different = 0;
        for (int i = 0; i < whole.size(); i++) {
            for (int k = 0; k < whole.get(i).size(); k++) {
                double a = whole.get(i).asDouble(k);
                double b = moved.get(i).asDouble(k);
                assertThat(b).isCloseTo(a, within(1e-3 + 1e-3 * Math.abs(a)));
                different += a == b ? 0 : 1;
            }
        }
        assertThat(different).isGreaterThan(10);
    }

    @Test
    void notANumberIsWrongWhateverRoundingDoes() {
        Literal whole = values(1, 2, 3);
        assertThat(compare(values(1, Double.NaN, 3), whole, whole, values(9, 9, 9))
                        .equal())
                .isFalse();
        assertThat(compare(whole, values(1, Double.NaN, 3), whole, values(9, Double.NaN, 9))
                        .equal())
                .isFalse();
    }

    /** Equal without a number in it is no success that people should believe in. */
    @Test
    void whatIsNoNumberInBothIsTold() {
        Literal broken = values(1, Double.NaN, Double.POSITIVE_INFINITY);
        Comparison same = compare(broken, broken, broken);
        assertThat(same.equal()).isTrue();
        assertThat(same.errors()).endsWith("; 2 elements are NaN or infinite in both");
        Literal sound = values(1, 2, 3);
        assertThat(compare(sound, sound, sound).errors()).doesNotContain("NaN");
    }

    /** Sums of gradients that are forgotten or counted twice show in the moments, which rounding hardly moves. */
    @Test
    void gradientsOfAnotherSizeAreWrongUnderAdam() {
        LoadedModel model = LoadedModel.load("mlp:layers=2,hidden=16,batch=8");
        TrainingStep step = model.flat();
        ModelInputs inputs = ModelInputs.of(model, null, 1);
        WholeStep whole = WholeStep.of(step, true, () -> {
            throw new AssertionError("The reference evaluator must compute.");
        });
        List<Literal> expected = whole.outputs(inputs);
        RoundingSpread rounding = RoundingSpread.of(() -> whole, inputs);
        int moments = 0;
        for (int i = 0; i < expected.size(); i++) {
            OutputRole role = step.outputs().get(i);
            if (role.kind() != OutputRole.Kind.UPDATE
                    || !step.inputs().get(role.input()).name().contains(".m")) {
                continue;
            }
            moments++;
            double[] halved = expected.get(i).doubles().clone();
            for (int k = 0; k < halved.length; k++) {
                halved[k] /= 2;
            }
            List<Literal> got = new ArrayList<>(expected);
            got.set(i, Literal.ofDoubles(expected.get(i).shape(), halved));
            Comparison result = Comparison.of(got, expected, rounding);
            assertThat(result.equal()).as("output %d", i).isFalse();
        }
        assertThat(moments).isPositive();
        assertThat(Comparison.of(expected, expected, rounding).worst()).isZero();
    }
}

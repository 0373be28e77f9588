package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
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
                () -> RoundingSpread.among(IntStream.range(0, runs.length)
                        .mapToObj(i -> List.of(runs[i]))
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

    /** Sums of gradients that are forgotten or counted twice show in the moments, which rounding hardly moves. */
    @Test
    void gradientsOfAnotherSizeAreWrongUnderAdam() {
        LoadedModel model = LoadedModel.load("mlp:layers=2,hidden=16,batch=8");
        TrainingStep step = model.flat();
        ModelInputs inputs = ModelInputs.of(model, null, 1);
        WholeStep whole = WholeStep.of(step, true, () -> {
            throw new AssertionError("The reference evaluator must compute.");
        });
        List<Literal> expected = whole.outputs(List.of(inputs)).get(0);
        RoundingSpread rounding = RoundingSpread.of(whole, inputs);
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
            Comparison result = Comparison.of(got, expected, () -> rounding);
            assertThat(result.equal()).as("output %d", i).isFalse();
        }
        assertThat(moments).isPositive();
        assertThat(Comparison.of(expected, expected, () -> rounding).worst()).isZero();
    }
}

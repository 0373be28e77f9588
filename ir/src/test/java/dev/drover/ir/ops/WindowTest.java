package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WindowTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{size=3x3 pad=1_1x1_1}",
                "{size=1x2x2x1 stride=1x2x2x1}",
                "{size=7x7 pad=0_-1x0_-1 rhs_dilate=2x2}",
                "{size=3x3 pad=1_2x1_2 lhs_dilate=2x2}",
                "{size=2x3 stride=1x2 pad=0_0x1_0 lhs_dilate=2x1 rhs_dilate=1x3 rhs_reversal=1x0}"
            })
    void printsWhatItRead(String text) {
        assertThat(Window.parse(text)).hasToString(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"size=3", "{size=3x3 stride=2}", "{size=a}", "{stride=2}x", "{size=3 shape=2}"})
    void refusesOthers(String text) {
        assertThatThrownBy(() -> Window.parse(text)).isInstanceOf(AttributeException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "{size=3 pad=1_1}, 5, 5",
        "{size=3 stride=2 pad=0_1}, 8, 4",
        "{size=2 stride=2}, 5, 2",
        "{size=3 pad=2_1 lhs_dilate=2}, 4, 8",
        "{size=7 pad=0_-1 rhs_dilate=2}, 16, 3",
        "{size=5}, 4, 0",
    })
    void countsOutputsAndRealTaps(String text, long inputs, long outputs) {
        Window.Dim dim = Window.parse(text).dim(0);
        assertThat(dim.outputs(inputs)).isEqualTo(outputs);
        long real = 0;
        for (long output = 0; output < outputs; output++) {
            for (long tap = 0; tap < dim.size(); tap++) {
                real += dim.input(output, tap, inputs) >= 0 ? 1 : 0;
            }
        }
        assertThat(dim.realTaps(inputs)).isEqualTo(real);
    }

    @Test
    void paddingAndHolesAreNotElements() {
        Window.Dim dim = Window.parse("{size=3 pad=2_1 lhs_dilate=2}").dim(0);
        // dilated and padded: _ _ 0 _ 1 _ 2 _ 3 _
        assertThat(dim.input(0, 0, 4)).isEqualTo(-1);
        assertThat(dim.input(0, 2, 4)).isEqualTo(0);
        assertThat(dim.input(1, 2, 4)).isEqualTo(-1);
        assertThat(dim.input(2, 2, 4)).isEqualTo(1);
        assertThat(dim.input(7, 2, 4)).isEqualTo(-1);
    }
}

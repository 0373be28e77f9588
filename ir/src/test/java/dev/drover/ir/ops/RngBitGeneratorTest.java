package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Expected words: JAX 0.10.2 on the CPU, {@code lax.rng_bit_generator}. */
class RngBitGeneratorTest {
    private static final long[] STATE = {0x123456789abcdef0L, -1};

    private static Value run(String algorithm, DType dtype, long[] state, long... dims) {
        return Apply.apply(
                new RngBitGenerator(algorithm, ArrayShape.of(dtype, dims)),
                Literal.ofLongs(ArrayShape.of(DType.U64, state.length), state));
    }

    @Test
    void threefryWords() {
        Value even = run("rng_three_fry", DType.U32, STATE.clone(), 3, 2);
        assertThat(Apply.element(even, 1).longs())
                .containsExactly(0xa4317ba7L, 0x21f1aacaL, 0x5eff803dL, 0x4ce380f9L, 0x394bdefcL, 0x64dfd0aeL);
        assertThat(Apply.element(even, 0).longs()).containsExactly(STATE[0], 2);
        // no even dim: the largest is padded
        Value odd = run("rng_three_fry", DType.U32, STATE.clone(), 3, 5);
        assertThat(Apply.element(odd, 1).longs())
                .startsWith(0xa4317ba7L, 0x21f1aacaL, 0x5eff803dL, 0x4ce380f9L, 0x394bdefcL, 0x523f5786L, 0x4028dd8dL)
                .endsWith(0x8393e486L, 0x81ca8296L, 0x50b8a089L);
        assertThat(Apply.element(odd, 0).longs()).containsExactly(STATE[0], 8);
    }

    @Test
    void threefryWideAndNarrowWords() {
        Value wide = run("rng_three_fry", DType.U64, new long[] {5, 7}, 3, 2);
        assertThat(Apply.element(wide, 1).longs()).startsWith(0x3f6592d8ee74f173L, 0x7aa3825200a74d45L);
        assertThat(Apply.element(wide, 0).longs()).containsExactly(5, 13);
        Value narrow = run("rng_three_fry", DType.U16, new long[] {5, 7}, 3, 2);
        assertThat(Apply.element(narrow, 1).longs()).containsExactly(0xf173, 0x92d8, 0x4d45, 0x8252, 0x0f71, 0x0d2a);
    }

    @Test
    void philoxWords() {
        Value words = run("rng_philox", DType.U32, STATE.clone(), 3, 2);
        assertThat(Apply.element(words, 1).longs())
                .containsExactly(0x583ddf1eL, 0xb3bb590cL, 0xea99e9daL, 0x40230b26L, 0x102d8cf3L, 0x2012dc06L);
        assertThat(Apply.element(words, 0).longs()).containsExactly(STATE[0], 1);
        Value wide = run("rng_philox", DType.U64, STATE.clone(), 3, 2);
        assertThat(Apply.element(wide, 1).longs()).startsWith(0xb3bb590c583ddf1eL, 0x40230b26ea99e9daL);
        assertThat(Apply.element(wide, 0).longs()).containsExactly(STATE[0], 2);
    }

    @Test
    void defaultIsPhilox() {
        long[] state = {5, 7};
        Literal words = Apply.element(run("rng_default", DType.U32, state, 3, 5), 1);
        assertThat(words.longs()).startsWith(0x74a851f1L, 0xc4a35ba8L).endsWith(0xed1033cbL, 0xcc945fc4L);
        assertThat(Arrays.stream(words.longs()).distinct().count()).isEqualTo(15);
    }
}

package dev.drover.plan.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.memory.MemoryKind;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ByteUnitTest {
    private static List<String> column(Long... sizes) {
        ByteUnit unit = ByteUnit.of(Stream.of(sizes));
        return Stream.of(sizes).map(unit::text).toList();
    }

    @Test
    void aColumnHasOneUnit() {
        assertThat(column(0L, 4L, 8192L)).containsExactly("0 B", "4 B", "8192 B");
        assertThat(column(0L, 4L, 300L, 16384L)).containsExactly("0 KiB", "<0.1 KiB", "0.3 KiB", "16.0 KiB");
        assertThat(column(3L << 30, 1L << 29, 100L)).containsExactly("3.0 GiB", "0.5 GiB", "<0.1 GiB");
        assertThat(column(5L << 50)).containsExactly("5120.0 TiB");
        assertThat(column()).isEmpty();
    }

    @Test
    void partsHaveTheUnitOfTheLargest() {
        MemoryUse use = new MemoryUse(
                0,
                1L << 34,
                5L << 30,
                Map.of(MemoryKind.CONSTANTS, 100L, MemoryKind.PARAMETERS, 3L << 30, MemoryKind.GRADIENTS, 2L << 30),
                List.of());
        assertThat(use.parts()).isEqualTo("3.0 GiB parameters, 2.0 GiB gradients, <0.1 GiB constants");
    }

    @Test
    void aSizeAloneHasItsOwnUnit() {
        assertThat(MemoryUse.text(16383)).isEqualTo("16383 B");
        assertThat(MemoryUse.text(16384)).isEqualTo("16.0 KiB");
        assertThat(MemoryUse.text(1 << 20)).isEqualTo("1.0 MiB");
        assertThat(MemoryUse.text(3L << 29)).isEqualTo("1.5 GiB");
    }
}

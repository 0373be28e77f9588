package dev.drover.plan.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.memory.MemoryKind;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MemoryUseTest {
    @Test
    void partsAreListedFromTheLargest() {
        MemoryUse use = new MemoryUse(
                0,
                1L << 34,
                5L << 30,
                Map.of(MemoryKind.CONSTANTS, 100L, MemoryKind.PARAMETERS, 3L << 30, MemoryKind.GRADIENTS, 2L << 30),
                List.of());
        assertThat(use.parts()).isEqualTo("3.0 GiB parameters, 2.0 GiB gradients, 100 B constants");
    }

    @Test
    void aSizeHasItsOwnUnit() {
        assertThat(MemoryUse.text(0)).isEqualTo("0 B");
        assertThat(MemoryUse.text(5L << 50)).isEqualTo("5120.0 TiB");
        assertThat(MemoryUse.text(16383)).isEqualTo("16383 B");
        assertThat(MemoryUse.text(16384)).isEqualTo("16.0 KiB");
        assertThat(MemoryUse.text(1 << 20)).isEqualTo("1.0 MiB");
        assertThat(MemoryUse.text(3L << 29)).isEqualTo("1.5 GiB");
    }
}

package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.plan.memory.KernelWork;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.ValueRef;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a program's kernels do, as the price model wants to know it. */
class KernelWorkTest {
    @Test
    void layersThatRepeatCallTheSameKernels() {
        StringBuilder text = new StringBuilder("""
                HloModule layers
                ENTRY main {
                  x0 = f32[64,64] parameter(0)
                  w = f32[64,64] parameter(1)
                """);
        for (int i = 0; i < 3; i++) {
            text.append(String.format("""
                      d%1$d = f32[64,64] dot(x%1$d, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                      x%2$d = f32[64,64] logistic(d%1$d)
                    """, i, i + 1));
        }
        text.append("  ROOT out = (f32[64,64]) tuple(x3)\n}\n");
        Computation computation = HloReader.read("layers", text).entry();
        Program program = new Program(
                "layers",
                0,
                Phase.FORWARD,
                computation,
                List.of(new ValueRef("x", false), new ValueRef("w", false)),
                List.of(new ValueRef("y", false)));
        KernelWork work = new TorchDeviceMemory().kernels(program, List.of(0));
        long matrix = 64 * 64 * 4;
        assertThat(work.calls()).isEqualTo(3);
        assertThat(work.bytes()).isEqualTo(3 * 2 * matrix);
        assertThat(work.firstCalls()).isEqualTo(2);
        // two inputs, an output, and at least one matrix on the way
        assertThat(work.touchedBytes()).isBetween(4 * matrix, 6 * matrix);
    }
}

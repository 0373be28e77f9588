package dev.drover.planner.cost;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.plan.cluster.DeviceType;
import dev.drover.plan.memory.KernelWork;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RooflineTest {
    private static final Computation STEP = HloReader.read("roofline.hlo", """
                    HloModule roofline
                    ENTRY main {
                      x = f32[250] parameter(0)
                      c = f32[250] constant({...})
                      y = f32[250] add(x, c)
                      device = u32[] partition-id()
                      two = u32[] constant(2)
                      start = u32[] multiply(device, two)
                      part = f32[25] dynamic-slice(y, start), dynamic_slice_sizes={25}
                      z = f32[5,5] reshape(part)
                      ROOT p = f32[5,5] dot(z, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                    }
                    """).entry();

    private static final DeviceType SLOW =
            new DeviceType("slow", new TreeMap<>(Map.of("f32", 1e12)), 1, 1L << 30, 1e9, 7);

    /**
     * Bytes read and written at 1 a nanosecond, and 7 ns an op; what is elementwise is one op of three of a chain; what is fed, made of, seen or
     * an index takes nothing.
     */
    @Test
    void onlyWorkTakesTime() {
        Roofline roofline = new Roofline(SLOW);
        Map<String, Double> nanosByName =
                Map.of("y", (2 * 1000 + 7) / 3.0, "part", 2.0 * 100 + 4 + 7, "p", 3.0 * 100 + 7);
        for (Instruction instruction : STEP.instructions()) {
            assertThat(roofline.localNanos(instruction))
                    .as(instruction.name())
                    .isEqualTo(nanosByName.getOrDefault(instruction.name(), 0.0));
        }
        assertThat(roofline.work().cutNanos(100)).isEqualTo((2 * 100 + 7) / 3.0);
    }

    /** Of a program whose kernels are known, these and the products count, not the ops that they were made of. */
    @Test
    void kernelsOfAProgramCount() {
        DeviceWork work = new Roofline(SLOW).work();
        assertThat(work.kernelNanos(new KernelWork(5, 4_000, 250, 0, 3, 2_000))).isEqualTo(5 * 7 + 4_000);
        for (Instruction instruction : STEP.instructions()) {
            double nanos = work.besideKernelsNanos(
                    instruction,
                    0,
                    instruction.operandShapes().stream()
                            .flatMap(shape -> shape.leaves().stream())
                            .toList(),
                    instruction.shape().leaves());
            assertThat(nanos)
                    .as(instruction.name())
                    .isEqualTo(instruction.name().equals("p") ? 3 * 100 + 7 : 0.0);
        }
    }
}

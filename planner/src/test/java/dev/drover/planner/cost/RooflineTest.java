package dev.drover.planner.cost;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.plan.cluster.DeviceType;
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
                      ROOT z = f32[5,5] reshape(part)
                    }
                    """).entry();

    /** Bytes read and written at 1 a nanosecond, and 7 ns an op; what is fed, made of, seen or an index takes nothing. */
    @Test
    void onlyWorkTakesTime() {
        Roofline roofline =
                new Roofline(new DeviceType("slow", new TreeMap<>(Map.of("f32", 1e12)), 1, 1L << 30, 1e9, 7));
        Map<String, Integer> nanosByName = Map.of("y", 3 * 1000 + 7, "part", 2 * 100 + 4 + 7);
        for (Instruction instruction : STEP.instructions()) {
            assertThat(roofline.localNanos(instruction)).as(instruction.name()).isEqualTo((double)
                    nanosByName.getOrDefault(instruction.name(), 0));
        }
        assertThat(roofline.moveNanos(100)).isEqualTo(2 * 100 + 7);
    }
}

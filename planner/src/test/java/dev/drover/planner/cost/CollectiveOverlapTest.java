package dev.drover.planner.cost;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Collective;
import dev.drover.ir.text.HloReader;
import org.junit.jupiter.api.Test;

final class CollectiveOverlapTest {

    /** Computing takes 10 an instruction (views nothing), a collective as many as its operand has elements. */
    private static double exposed(String body) {
        CollectiveOverlap overlap = new CollectiveOverlap();
        for (Instruction instruction :
                HloReader.read("test", """
                HloModule test

                add {
                  a = f32[] parameter(0)
                  b = f32[] parameter(1)
                  ROOT c = f32[] add(a, b)
                }

                ENTRY main {
                """ + body + "}\n").entry().instructions()) {
            if (instruction.op() instanceof Collective) {
                overlap.collective(
                        instruction, (double) instruction.operand(0).array().elements());
            } else {
                boolean works =
                        !instruction.op().isView() && !instruction.operands().isEmpty();
                overlap.compute(instruction, works ? 10 : 0);
            }
        }
        return overlap.exposedNanos();
    }

    private static String sum(String name, String operand, int elements) {
        return "  " + name + " = f32[" + elements + "] all-reduce(" + operand
                + "), replica_groups={{0,1}}, to_apply=add\n";
    }

    @Test
    void whatIsUsedAtOnceIsExposed() {
        assertThat(exposed("  x = f32[30] parameter(0)\n" + sum("s", "x", 30) + "  ROOT y = f32[30] negate(s)\n"))
                .isEqualTo(30);
    }

    @Test
    void computingHidesACollectiveAlsoBehindViews() {
        assertThat(exposed("  x = f32[30] parameter(0)\n" + sum("s", "x", 30) + """
                  v = f32[5,6] reshape(s)
                  a = f32[30] negate(x)
                  b = f32[30] exponential(a)
                  y = f32[5,6] negate(v)
                  z = f32[30] tanh(b)
                  ROOT t = (f32[5,6], f32[30]) tuple(y, z)
                """))
                .isEqualTo(10);
    }

    @Test
    void collectivesFollowEachOtherAndTheThirdWaitsForTheFirst() {
        String start = "  x = f32[30] parameter(0)\n" + sum("s", "x", 30) + sum("u", "x", 30);
        String work = "  a = f32[30] negate(x)\n  b = f32[30] tanh(a)\n";
        assertThat(exposed(start + work + "  ROOT t = (f32[30], f32[30], f32[30]) tuple(s, u, b)\n"))
                .isEqualTo(60 - 20);
        assertThat(exposed(start + sum("w", "x", 30) + work
                        + "  ROOT t = (f32[30], f32[30], f32[30], f32[30]) tuple(s, u, w, b)\n"))
                .isEqualTo(30 + (90 - 30 - 20));
    }
}

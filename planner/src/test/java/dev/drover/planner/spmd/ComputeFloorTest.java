package dev.drover.planner.spmd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Phase;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ComputeFloorTest {
    /** Forward a0, a1, backward b1, b0, updates u0, u1, on the stage that their number says. */
    private static final Computation STEP = HloReader.read("floor.hlo", """
                    HloModule floor
                    ENTRY main {
                      w0 = f32[4096] parameter(0)
                      w1 = f32[4096] parameter(1)
                      p1 = f32[4096] negate(w1)
                      c = f32[] constant(2)
                      s = f32[4096] broadcast(c), dimensions={}
                      a0 = f32[4096] multiply(w0, s)
                      a1 = f32[4096] multiply(a0, p1)
                      b1 = f32[4096] multiply(a1, p1)
                      b0 = f32[4096] multiply(b1, a0)
                      u0 = f32[4096] subtract(s, b0)
                      u1 = f32[4096] add(w1, b1)
                      ROOT out = (f32[4096], f32[4096]) tuple(u0, u1)
                    }
                    """).entry();

    private static final Map<String, Phase> PHASES =
            Map.of("p", Phase.PRE, "a", Phase.FORWARD, "b", Phase.BACKWARD, "u", Phase.POST, "w", Phase.PRE);

    private static double floor(int microBatches, Map<String, Integer> nanos) {
        return ComputeFloor.nanos(
                STEP,
                FreeValues.of(STEP),
                2,
                microBatches,
                id -> {
                    String name = STEP.instructions().get(id).name();
                    return ComputeFloor.part(
                            name.endsWith("1") ? 1 : 0, PHASES.getOrDefault(name.substring(0, 1), Phase.PRE));
                },
                instruction -> nanos.getOrDefault(instruction.name(), 0));
    }

    /**
     * <pre>
     *   stage 0   [a0][a0][a0]                        [b0][u0........]
     *   stage 1       [p1 ][a1][b1][a1][b1][a1][b1]       [u1]
     * </pre>
     */
    @Test
    void theLastBackwardPassWaitsForTheStagesBehindIt() {
        Map<String, Integer> nanos = Map.of("a0", 10, "p1", 25, "a1", 7, "b1", 8, "b0", 20, "u0", 300, "u1", 5);
        assertThat(floor(3, nanos)).isEqualTo(25 + 3 * (7 + 8) + 20 + 300);
    }

    /** The first stage does all its passes one after the other, and what follows waits for them. */
    @Test
    void aBusyStageBoundsTheStep() {
        Map<String, Integer> nanos = Map.of("a0", 10, "p1", 25, "a1", 7, "b1", 8, "b0", 200, "u0", 30, "u1", 5);
        assertThat(floor(3, nanos)).isEqualTo(3 * (10 + 200) + 30);
    }

    /** Each program makes s for itself: the forward passes on stage 0 and its update. */
    @Test
    void freeValuesCountInEveryPartThatUsesThem() {
        assertThat(floor(4, Map.of("s", 10))).isEqualTo(4 * 10 + 10);
    }

    /** What is made once is fed to the others, however many use it. */
    @Test
    void otherValuesCountWhereTheyAreMade() {
        assertThat(floor(4, Map.of("p1", 10))).isEqualTo(10);
        assertThat(floor(4, Map.of("a0", 10))).isEqualTo(4 * 10);
    }
}

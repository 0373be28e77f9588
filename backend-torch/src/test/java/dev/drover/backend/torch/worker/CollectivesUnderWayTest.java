package dev.drover.backend.torch.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.InitialState;
import dev.drover.testkit.ProcessCluster;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Two processes compute while their collectives are under way, in places that would be used again if a collective did not keep what it
 * reads and writes: each of four sums of 1 and 16 MiB (our own and Gloo's) begins, temporaries of the same size come and go, and only
 * then are the sums used. The last collectives have several operands, of which one occurs twice.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class CollectivesUnderWayTest {
    private static final int SMALL = 1 << 18;
    private static final int LARGE = 1 << 22;
    private static final ArrayShape X = OneProgram.x(2);

    private static final Computation PROGRAM = HloReader.read("test", """
            HloModule main

            add {
              a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT c = f32[] add(a, b)
            }

            ENTRY main {
              x = f32[1] parameter(0)
              one = f32[] reshape(x)
              small = f32[SMALL] broadcast(one), dimensions={}
              index = f32[SMALL] iota(), iota_dimension=0
              g1 = f32[SMALL] add(small, index)
              s1 = f32[SMALL] all-reduce(g1), replica_groups={{0,1}}, to_apply=add
              t1 = f32[SMALL] multiply(small, index)
              g2 = f32[SMALL] subtract(t1, small)
              s2 = f32[SMALL] all-reduce(g2), replica_groups={{0,1}}, to_apply=add
              t2 = f32[SMALL] multiply(t1, small)
              t3 = f32[SMALL] subtract(t2, index)
              large = f32[LARGE] broadcast(one), dimensions={}
              count = f32[LARGE] iota(), iota_dimension=0
              g3 = f32[LARGE] add(large, count)
              s3 = f32[LARGE] all-reduce(g3), replica_groups={{0,1}}, to_apply=add
              t4 = f32[LARGE] multiply(large, count)
              t5 = f32[LARGE] subtract(t4, large)
              s4 = f32[LARGE] all-reduce(t5), replica_groups={{0,1}}, to_apply=add
              t6 = f32[LARGE] add(t4, count)
              sums = f32[SMALL] add(s1, s2)
              temporary = f32[SMALL] add(sums, t3)
              largeSums = f32[LARGE] add(s3, s4)
              largeTemporary = f32[LARGE] add(largeSums, t6)
              many = (f32[SMALL], f32[SMALL], f32[SMALL]) all-reduce(sums, temporary, sums), replica_groups={{0,1}}, to_apply=add
              m0 = f32[SMALL] get-tuple-element(many), index=0
              m1 = f32[SMALL] get-tuple-element(many), index=1
              m2 = f32[SMALL] get-tuple-element(many), index=2
              parts = (f32[HALF], f32[HALF]) reduce-scatter(sums, temporary), replica_groups={{0,1}}, dimensions={0}, to_apply=add
              p0 = f32[HALF] get-tuple-element(parts), index=0
              p1 = f32[HALF] get-tuple-element(parts), index=1
              both = (f32[SMALL], f32[SMALL]) all-gather(p0, p1), replica_groups={{0,1}}, dimensions={0}
              b0 = f32[SMALL] get-tuple-element(both), index=0
              b1 = f32[SMALL] get-tuple-element(both), index=1
              c0 = f32[SMALL] add(m0, m2)
              c1 = f32[SMALL] add(m1, b1)
              c2 = f32[SMALL] add(c0, b0)
              ROOT out = (f32[SMALL], f32[SMALL], f32[LARGE]) tuple(c1, c2, largeTemporary)
            }
            """.replace("SMALL", "" + SMALL)
                    .replace("HALF", "" + SMALL / 2)
                    .replace("LARGE", "" + LARGE))
            .entry();

    private static final ExecutionPlan PLAN = OneProgram.plan(PROGRAM, 2, i -> i % 2);

    @Test
    void whatIsUnderWayKeepsItsPlace() {
        ClusterOptions options = ClusterOptions.of(TorchWorkerMain.class.getName());
        try (ProcessCluster processes = ProcessCluster.start("under-way", options, 2)) {
            Execution execution =
                    Execution.load(processes.cluster(), PLAN, new InitialState(1, Map.of()), Duration.ofMinutes(2));
            for (int step = 0; step < 3; step++) {
                float[] x = {1.5f + step, 2.25f};
                execution.feed(0, Literal.ofDoubles(X, new double[] {x[0], x[1]}));
                execution.run(step, 1, reports -> OneProgram.checkPeaks(PLAN, reports));
                check(execution, x);
            }
        }
    }

    /** The same in plain Java; all sums are of two floats, so they are exact. */
    private static void check(Execution execution, float[] x) {
        double[][] out = new double[3][];
        for (int i = 0; i < 3; i++) {
            out[i] = execution.output(i).doubles();
        }
        for (int i = 0; i < SMALL; i += 4099) {
            float sums = sums(x, i);
            float[] temporary = new float[2];
            for (int d = 0; d < 2; d++) {
                temporary[d] = sums + (x[d] * i * x[d] - i);
            }
            float twice = sums + sums;
            float together = temporary[0] + temporary[1];
            assertThat((float) out[0][i]).isEqualTo(together + together);
            assertThat((float) out[1][i]).isEqualTo(twice + twice + twice);
        }
        for (int i = 0; i < LARGE; i += 65537) {
            assertThat((float) out[2][i]).isEqualTo(sums(x, i) + (x[0] * i + i));
        }
    }

    private static float sums(float[] x, int i) {
        float first = (x[0] + i) + (x[1] + i);
        float second = (x[0] * i - x[0]) + (x[1] * i - x[1]);
        return first + second;
    }
}

package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.GraphEquality;
import dev.drover.ir.text.HloPrinter;
import dev.drover.ir.text.HloReader;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Attributes of ops that no model in the corpus has: read, printed, and read again the same. */
class AttributesTest {
    private static final String HLO = """
            HloModule rare, num_partitions=4

            add {
              x = f32[] parameter(0)
              y = f32[] parameter(1)
              ROOT z = f32[] add(x, y)
            }

            less {
              x0 = f32[] parameter(0)
              y0 = f32[] parameter(1)
              x1 = s32[] parameter(2)
              y1 = s32[] parameter(3)
              ROOT z = pred[] compare(x0, y0), direction=LT
            }

            twice {
              x = f32[] parameter(0)
              ROOT y = f32[] add(x, x)
            }

            ENTRY e {
              x = f32[4,8] parameter(0)
              i = s32[4,8] parameter(1)
              k = u64[2] parameter(2)
              m = f32[3,3] parameter(3)
              v = f32[8] parameter(4)
              s = f32[] parameter(5)
              c = s32[] parameter(6)
              a = f32[4,8] all-reduce-start(x), channel_id=1, replica_groups={{0,1},{2,3}}, to_apply=add
              b = f32[4,8] all-reduce-done(a)
              d = (f32[4,8], f32[8,8]) all-gather-start(b), channel_id=2, replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}, use_global_device_ids=true
              f = f32[8,8] all-gather-done(d)
              g = f32[4,8] reduce-scatter(f), channel_id=3, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, dimensions={0}, to_apply=add
              h = f32[4,8] all-to-all(g), channel_id=4, replica_groups={{0,1},{2,3}}, dimensions={1}
              j = (f32[4,8], f32[4,8], u32[], u32[]) collective-permute-start(h), channel_id=5, source_target_pairs={{0,1},{1,0}}
              l = f32[4,8] collective-permute-done(j)
              n = f32[4,8] collective-broadcast(l), channel_id=6, replica_groups={{0,1,2,3}}
              o = u32[] replica-id()
              p = (f32[4,8], s32[4,8]) sort(n, i), dimensions={1}, is_stable=true, to_apply=less
              q = (u64[2], u32[3,5]) rng-bit-generator(k), algorithm=rng_three_fry
              r = f32[4] rng(s, s), distribution=rng_normal
              t = u64[2] rng-get-and-update-state(), delta=7
              u = f32[3,3] cholesky(m), lower=true
              w = f32[3,3] triangular-solve(u, m), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
              y = c64[4,5] fft(x), fft_type=RFFT, fft_length={8}
              z = f32[4,8] batch-norm-inference(x, v, v, v, v), epsilon=0.001, feature_index=1
              aa = f32[] conditional(c, s, s), branch_computations={%twice, %twice}
              ab = f32[3,3] custom-call(m, w), custom_call_target="a \\"b\\" c", operand_layout_constraints={f32[3,3]{1,0}, f32[3,3]{0,1}}, custom_call_has_side_effect=true, api_version=API_VERSION_STATUS_RETURNING, called_computations={%twice, %add}
              ac = f32[4,8] map(x, z), dimensions={0,1}, to_apply=add
              ROOT ad = (f32[4,8], f32[3,3], f32[]) tuple(ac, ab, aa)
            }
            """;

    @Test
    void readPrintAndReadAgain() {
        Graph graph = HloReader.read("rare", HLO);
        String text = HloPrinter.print(graph);
        Graph again = HloReader.read("again", text);
        assertThat(GraphEquality.difference(graph, again)).isNull();
        assertThat(HloPrinter.print(again)).isEqualTo(text);
        Map<String, String> annotations = new TreeMap<>();
        for (Instruction instruction : graph.entry().instructions()) {
            instruction.annotations().forEach((name, value) -> annotations.put(instruction.name() + "." + name, value));
        }
        assertThat(annotations).as("attributes that no op has read").isEmpty();
    }
}

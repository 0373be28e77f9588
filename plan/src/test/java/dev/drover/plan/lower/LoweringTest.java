package dev.drover.plan.lower;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.SpmdEvaluator;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sharding.RandomStrategies;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.task.TensorSlice;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The program of the devices computes what the whole program computes, for strategies drawn at random. */
class LoweringTest {
    private static final String PROGRAM = """
            HloModule parts

            add {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT s = f64[] add(a, b)
            }

            larger {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT m = f64[] maximum(a, b)
            }

            ENTRY main {
              x = f64[8,24] parameter(0)
              w = f64[24,16] parameter(1)
              table = f64[32,24] parameter(2)
              ids = s32[8,4] parameter(3)
              y = f64[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              t = f64[8,16] tanh(y)
              heads = f64[8,4,4] reshape(t)
              turned = f64[4,8,4] transpose(heads), dimensions={1,0,2}
              scores = f64[4,8,8] dot(turned, turned), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
              lowest = f64[] constant(-inf)
              zero = f64[] constant(0)
              top = f64[4,8] reduce(scores, lowest), dimensions={2}, to_apply=larger
              tops = f64[4,8,8] broadcast(top), dimensions={0,1}
              shifted = f64[4,8,8] subtract(scores, tops)
              exps = f64[4,8,8] exponential(shifted)
              sums = f64[4,8] reduce(exps, zero), dimensions={2}, to_apply=add
              counts = f64[4,8,8] iota(), iota_dimension=1
              summed = f64[4,8,8] add(exps, counts)
              flat = f64[32,8] reshape(summed)
              rows = f64[8,4,24] gather(table, ids), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,24}
              mean = f64[8,24] reduce(rows, zero), dimensions={1}, to_apply=add
              nearer = f64[8,24] add(mean, x)
              slice = f64[8,8] slice(nearer), slice={[0:8], [8:16]}
              grad = f64[24,16] dot(x, t), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              next = f64[24,16] subtract(w, grad)
              loss = f64[] reduce(sums, zero), dimensions={0,1}, to_apply=add
              ROOT out = (f64[24,16], f64[32,8], f64[8,8], f64[]) tuple(next, flat, slice, loss)
            }
            """;

    private static final List<Integer> UPDATES = List.of(1, -1, -1, -1);

    /** A loop that goes on until its error is small, and a branch: both stay whole, and take tuples of sharded values. */
    private static final String LOOP = """
            HloModule loop

            add {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT s = f64[] add(a, b)
            }

            more {
              state = (f64[], (f64[8,4], s32[])) parameter(0)
              error = f64[] get-tuple-element(state), index=0
              least = f64[] constant(0.001)
              ROOT go = pred[] compare(error, least), direction=GT
            }

            turn {
              state = (f64[], (f64[8,4], s32[])) parameter(0)
              inner = (f64[8,4], s32[]) get-tuple-element(state), index=1
              x = f64[8,4] get-tuple-element(inner), index=0
              n = s32[] get-tuple-element(inner), index=1
              half = f64[] constant(0.5)
              halves = f64[8,4] broadcast(half), dimensions={}
              next = f64[8,4] multiply(x, halves)
              squares = f64[8,4] multiply(next, next)
              zero = f64[] constant(0)
              left = f64[] reduce(squares, zero), dimensions={0,1}, to_apply=add
              one = s32[] constant(1)
              m = s32[] add(n, one)
              both = (f64[8,4], s32[]) tuple(next, m)
              ROOT out = (f64[], (f64[8,4], s32[])) tuple(left, both)
            }

            first {
              pair = (f64[8,4], f64[8,4]) parameter(0)
              ROOT a = f64[8,4] get-tuple-element(pair), index=0
            }

            second {
              pair = (f64[8,4], f64[8,4]) parameter(0)
              ROOT b = f64[8,4] get-tuple-element(pair), index=1
            }

            ENTRY main {
              x = f64[8,4] parameter(0)
              w = f64[4,4] parameter(1)
              y = f64[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              start = f64[] constant(1)
              none = s32[] constant(0)
              inner = (f64[8,4], s32[]) tuple(y, none)
              state = (f64[], (f64[8,4], s32[])) tuple(start, inner)
              loop = (f64[], (f64[8,4], s32[])) while(state), condition=more, body=turn
              left = (f64[8,4], s32[]) get-tuple-element(loop), index=1
              small = f64[8,4] get-tuple-element(left), index=0
              turns = s32[] get-tuple-element(left), index=1
              few = s32[] constant(3)
              often = pred[] compare(turns, few), direction=GT
              pair = (f64[8,4], f64[8,4]) tuple(small, y)
              chosen = f64[8,4] conditional(often, pair, pair), true_computation=first, false_computation=second
              grad = f64[4,4] dot(x, chosen), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              next = f64[4,4] subtract(w, grad)
              ROOT out = (f64[4,4], s32[], f64[8,4]) tuple(next, turns, chosen)
            }
            """;

    private static List<Literal> inputs(Computation entry) {
        Random random = new Random(5);
        List<Literal> out = new ArrayList<>();
        for (Instruction parameter : entry.parameters()) {
            ArrayShape shape = parameter.array();
            int n = Math.toIntExact(shape.elements());
            out.add(
                    shape.dtype().isFloat()
                            ? Literal.ofDoubles(
                                    shape, random.doubles(n).map(v -> v - 0.5).toArray())
                            : Literal.ofLongs(shape, random.longs(n, 0, 32).toArray()));
        }
        return out;
    }

    private static void check(Mesh mesh, long seed) {
        check(PROGRAM, UPDATES, mesh, seed);
    }

    private static void check(String program, List<Integer> updates, Mesh mesh, long seed) {
        Computation entry = HloReader.read("parts.hlo", program).entry();
        List<Literal> inputs = inputs(entry);
        Value.Tuple expected = (Value.Tuple) Evaluator.evaluate(entry, inputs);
        ShardingDecisions decisions = RandomStrategies.draw(entry, updates, mesh, seed);
        Resharder resharder =
                new Resharder(mesh, (kind, axis, bytes) -> kind == CollectiveKind.ALL_REDUCE ? 2.0 * bytes : bytes);
        Lowered lowered = Lowering.lower(entry, decisions, resharder, ReshardSites.single(entry));

        List<List<Value>> arguments = new ArrayList<>();
        for (int device = 0; device < mesh.devices(); device++) {
            List<Value> mine = new ArrayList<>();
            for (int i = 0; i < inputs.size(); i++) {
                Sharding sharding = lowered.parameters().get(i);
                mine.add(TensorSlice.of(inputs.get(i).shape(), sharding, mesh, device)
                        .extract(inputs.get(i)));
            }
            arguments.add(mine);
        }
        List<Value> results = SpmdEvaluator.evaluate(lowered.local(), arguments);
        for (int output = 0; output < expected.elements().size(); output++) {
            Literal whole = expected.elements().get(output).literal();
            for (int device = 0; device < mesh.devices(); device++) {
                Literal wanted = TensorSlice.of(whole.shape(), lowered.outputs().get(output), mesh, device)
                        .extract(whole);
                Literal got = ((Value.Tuple) results.get(device))
                        .elements()
                        .get(output)
                        .literal();
                assertThat(got.shape()).isEqualTo(wanted.shape());
                for (int i = 0; i < got.size(); i++) {
                    assertThat(got.asDouble(i))
                            .as("output %d, device %d, element %d, seed %d, mesh %s", output, device, i, seed, mesh)
                            .isCloseTo(wanted.asDouble(i), org.assertj.core.data.Offset.offset(1e-9));
                }
            }
        }
        assertThat(lowered.outputs().get(0)).isEqualTo(lowered.parameters().get(1));
        assertThat(lowered.origins()).hasSameSizeAs(lowered.local().instructions());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void anyStrategiesOnALine(int seed) {
        check(Mesh.of(2), seed);
        check(Mesh.of(4), seed + 1000L * Long.getLong("seed", 1));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void anyStrategiesOnASquare(int seed) {
        check(Mesh.of(2, 2), seed);
        check(Mesh.of(2, 4), seed + 1000L * Long.getLong("seed", 1));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void loopsOfUnknownLengthTakeShardedValues(int seed) {
        check(LOOP, List.of(1, -1, -1), Mesh.of(2), seed);
        check(LOOP, List.of(1, -1, -1), Mesh.of(2, 2), seed + 1000L * Long.getLong("seed", 1));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void replicatedEverywhereIsTheProgramItself(int devices) {
        Computation entry = HloReader.read("parts.hlo", PROGRAM).entry();
        Mesh mesh = Mesh.of(devices);
        ShardingDecisions decisions = ShardingDecisions.of(
                entry,
                UPDATES,
                Collections.nCopies(entry.size(), dev.drover.plan.sharding.OpStrategy.replicated(1)),
                mesh);
        Lowered lowered = Lowering.lower(
                entry, decisions, new Resharder(mesh, (kind, axis, bytes) -> bytes), ReshardSites.single(entry));
        assertThat(lowered.local().size()).isEqualTo(entry.size());
    }
}

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

/**
 * Infinities, NaN and zeros among the inputs come out of a cut program where they come out of the whole one: no padding, no halo, no
 * zero that stands for "not mine" may be multiplied by what another device does not see. Chains are short, as NaN soon fills all; every
 * value of a chain is compared, under strategies drawn at random. {@code -Dseed=} draws others.
 */
class SpecialValuesTest {
    private static final List<Mesh> MESHES = List.of(Mesh.of(2), Mesh.of(4), Mesh.of(2, 2));
    private static final int DRAWS = 6;
    private static final double[] SPECIAL = {Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 0.0, -0.0};

    private static final String CALLED = """
            HloModule special

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

            smaller {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT m = f64[] minimum(a, b)
            }

            times {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT m = f64[] multiply(a, b)
            }

            keeps {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT k = pred[] compare(a, b), direction=GE
            }

            less {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT k = pred[] compare(a, b), direction=LT, type=TOTALORDER
            }

            """;

    @ParameterizedTest
    @ValueSource(
            strings = {
                // a sum's terms times, over and under what only the sum should meet
                "x = f64[8,9] parameter(0); y = f64[9,4] parameter(1); z = f64[8,4] parameter(2);"
                        + "d = f64[8,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}; m = f64[8,4] multiply(d, z);"
                        + "q = f64[8,4] divide(d, z); r = f64[8,4] divide(z, d); n = f64[8,4] negate(q)",
                "x = f64[8,4] parameter(0); y = f64[4,8] parameter(1); z = f64[8,6] parameter(2);"
                        + "d = f64[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
                        + "e = f64[8,6] dot(d, z), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
                        + "f = f64[6,8] dot(z, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
                "x = f64[8,4] parameter(0); z = f64[] constant(0); s = f64[8] reduce(x, z), dimensions={1}, to_apply=add;"
                        + "c = f64[] constant(3); b = f64[8] broadcast(c), dimensions={}; m = f64[8] multiply(s, b);"
                        + "q = f64[8] divide(s, b); o = f64[8] broadcast(z), dimensions={}; w = f64[8] divide(s, o);"
                        + "v = f64[8] multiply(s, o)",
                // clipping: the scale is one where the norm is zero
                "x = f64[8] parameter(0); z = f64[] constant(0); n = f64[] reduce(x, z), dimensions={0}, to_apply=add;"
                        + "u = f64[] subtract(n, n); one = f64[] constant(1); s = f64[] divide(one, z);"
                        + "t = f64[] minimum(one, s); k = f64[8] broadcast(t), dimensions={}; y = f64[8] multiply(x, k)",
                // softmax with masks
                "x = f64[4,8] parameter(0); low = f64[] constant(-inf); z = f64[] constant(0);"
                        + "t = f64[4] reduce(x, low), dimensions={1}, to_apply=larger; b = f64[4,8] broadcast(t), dimensions={0};"
                        + "s = f64[4,8] subtract(x, b); e = f64[4,8] exponential(s);"
                        + "n = f64[4] reduce(e, z), dimensions={1}, to_apply=add; l = f64[4] log(n);"
                        + "c = f64[4,8] broadcast(n), dimensions={0}; p = f64[4,8] divide(e, c)",
                "x = f64[8,4] parameter(0); one = f64[] constant(1); low = f64[] constant(inf);"
                        + "p = f64[4] reduce(x, one), dimensions={0}, to_apply=times; m = f64[8] reduce(x, low), dimensions={1}, to_apply=smaller",
                // convolutions: halos, kernels cut, dims that do not divide
                "x = f64[2,8,6,3] parameter(0); w = f64[3,3,3,5] parameter(1); b = f64[2,8,6,5] parameter(2);"
                        + "y = f64[2,8,6,5] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f;"
                        + "m = f64[2,8,6,5] multiply(y, b)",
                "x = f64[2,8,4,2] parameter(0); g = f64[2,4,4,4] parameter(1);"
                        + "k = f64[3,3,2,4] convolution(x, g), window={size=4x4 pad=0_1x1_1 rhs_dilate=2x1}, dim_labels=f01b_i01o->01bf",
                "g = f64[2,4,4,4] parameter(0); w = f64[3,3,2,4] parameter(1);"
                        + "d = f64[2,8,4,2] convolution(g, w), window={size=3x3 pad=2_1x1_1 lhs_dilate=2x1 rhs_reversal=1x0}, dim_labels=b01f_01oi->b01f",
                "x = f64[2,8,2,4] parameter(0); w = f64[3,1,2,8] parameter(1);"
                        + "y = f64[2,8,2,8] convolution(x, w), window={size=3x1 pad=2_0x0_0}, dim_labels=b01f_01io->b01f, feature_group_count=2",
                // windows
                "x = f64[2,8,6] parameter(0); z = f64[] constant(0); low = f64[] constant(-inf);"
                        + "s = f64[2,8,6] reduce-window(x, z), window={size=1x3x1 pad=0_0x1_1x0_0}, to_apply=add;"
                        + "m = f64[2,4,6] reduce-window(x, low), window={size=1x3x1 stride=1x2x1 pad=0_0x0_1x0_0}, to_apply=larger;"
                        + "c = f64[2,8,6] reduce-window(x, z), window={size=1x8x1 pad=0_0x7_0x0_0}, to_apply=add",
                "x = f64[2,8,6] parameter(0); s = f64[2,4,6] parameter(1); z = f64[] constant(0);"
                        + "y = f64[2,8,6] select-and-scatter(x, s, z), window={size=1x3x1 stride=1x2x1 pad=0_0x0_1x0_0}, select=keeps, scatter=add",
                // what moves
                "x = f64[8,12] parameter(0); v = f64[] parameter(1); p = f64[8,12] pad(x, v), padding=0_0x2_-2;"
                        + "q = f64[8,16] pad(x, v), padding=0_0x2_2; r = f64[8,12] reverse(x), dimensions={0}; s = f64[8,6] slice(x), slice={[0:8], [1:12:2]};"
                        + "t = f64[12,8] transpose(x), dimensions={1,0}; c = f64[16,12] concatenate(x, r), dimensions={0};"
                        + "h = f64[96] reshape(t); f = pred[8,12] compare(x, r), direction=LT; k = f64[8,12] select(f, x, r)",
                // look-ups
                "x = f64[16,6] parameter(0); i = s32[8] parameter(1); w = f64[6,4] parameter(2);"
                        + "g = f64[8,6] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6};"
                        + "d = f64[8,4] dot(g, w), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
                        + "u = f64[16,6] scatter(x, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add;"
                        + "m = f64[16,6] scatter(x, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=larger",
                "x = f64[8,6] parameter(0); u = f64[8,2] parameter(1); i = s32[] constant(0); j = s32[] constant(3);"
                        + "s = f64[8,2] dynamic-slice(x, i, j), dynamic_slice_sizes={8,2}; t = f64[8,6] dynamic-update-slice(x, u, i, j)",
                // sorted, largest
                "x = f64[8,6] parameter(0); s = f64[8,6] sort(x), dimensions={1}, to_apply=less;"
                        + "k = (f64[8,2], s32[8,2]) topk(x), k=2, largest=true; v = f64[8,2] get-tuple-element(k), index=0",
                "x = f64[8,6] parameter(0); y = f64[8,6] parameter(1); l = f64[8,6] log(x); e = f64[8,6] exponential(x);"
                        + "z = f64[] constant(0); o = f64[8,6] broadcast(z), dimensions={}; p = pred[8,6] compare(x, o), direction=GT;"
                        + "m = f64[8,6] select(p, l, o); n = f64[6] reduce(m, z), dimensions={0}, to_apply=add; a = f64[8,6] add(m, y);"
                        + "c = f64[8,6] clamp(o, x, y); w = f64[8,6] power(x, y); r = f64[8,6] remainder(x, y); q = f64[8,6] atan2(x, y)",
                "x = f64[4,2,6] parameter(0); g = f64[6] parameter(1); b = f64[6] parameter(2);"
                        + "t = (f64[4,2,6], f64[6], f64[6]) batch-norm-training(x, g, b), epsilon=0.001, feature_index=2;"
                        + "y = f64[4,2,6] get-tuple-element(t), index=0; m = f64[6] get-tuple-element(t), index=1; v = f64[6] get-tuple-element(t), index=2;"
                        + "i = f64[4,2,6] batch-norm-inference(x, g, b, m, v), epsilon=0.001, feature_index=2;"
                        + "d = (f64[4,2,6], f64[6], f64[6]) batch-norm-grad(x, g, m, v, y), epsilon=0.001, feature_index=2;"
                        + "h = f64[4,2,6] get-tuple-element(d), index=0",
            })
    void comeOutWhereTheWholeProgramHasThem(String chain) {
        Computation entry = HloReader.read("special.hlo", CALLED + entry(chain)).entry();
        Random random = new Random(Long.getLong("seed", 1) * 1000 + chain.hashCode());
        for (Mesh mesh : MESHES) {
            for (int draw = 0; draw < DRAWS; draw++) {
                check(entry, inputs(entry, random), mesh, random.nextInt(1_000_000));
            }
        }
    }

    /** The chain with all its arrays as results. */
    private static String entry(String chain) {
        StringBuilder body = new StringBuilder("ENTRY main {\n");
        List<String> names = new ArrayList<>();
        List<String> shapes = new ArrayList<>();
        for (String line : chain.split(";", -1)) {
            body.append(line.trim()).append('\n');
            String name = line.substring(0, line.indexOf('=')).trim();
            String shape = line.substring(line.indexOf('=') + 1).trim();
            if (!shape.startsWith("(")) {
                names.add(name);
                shapes.add(shape.substring(0, shape.indexOf(' ')));
            }
        }
        return body + "ROOT all = (" + String.join(", ", shapes) + ") tuple(" + String.join(", ", names) + ")\n}\n";
    }

    private static List<Literal> inputs(Computation entry, Random random) {
        List<Literal> out = new ArrayList<>();
        for (Instruction parameter : entry.parameters()) {
            ArrayShape shape = parameter.array();
            int n = Math.toIntExact(shape.elements());
            boolean indices = !shape.dtype().isFloat();
            out.add(
                    indices
                            ? Literal.ofLongs(shape, random.longs(n, -2, 18).toArray())
                            : sprinkled(
                                    Literal.ofDoubles(
                                            shape, random.doubles(n, -0.4, 0.6).toArray()),
                                    random));
        }
        return out;
    }

    /** Some elements become special: of some arrays few, of others many. */
    static Literal sprinkled(Literal finite, Random random) {
        int rare = 4 << random.nextInt(4);
        double[] values = finite.doubles().clone();
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextInt(rare) == 0 ? SPECIAL[random.nextInt(SPECIAL.length)] : values[i];
        }
        return Literal.ofDoubles(finite.shape(), values);
    }

    private static void check(Computation entry, List<Literal> inputs, Mesh mesh, long seed) {
        List<Value> expected = ((Value.Tuple) Evaluator.evaluate(entry, inputs)).elements();
        List<Integer> updates = Collections.nCopies(expected.size(), -1);
        ShardingDecisions decisions = RandomStrategies.draw(entry, updates, mesh, seed);
        Lowered lowered = Lowering.lower(
                entry, decisions, new Resharder(mesh, (kind, axis, bytes) -> 1 + bytes), ReshardSites.single(entry));
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
        for (int output = 0; output < expected.size(); output++) {
            Literal whole = expected.get(output).literal();
            Instruction made = entry.root().operand(output);
            for (int device = 0; device < mesh.devices(); device++) {
                Literal wanted = TensorSlice.of(whole.shape(), lowered.outputs().get(output), mesh, device)
                        .extract(whole);
                Literal got = ((Value.Tuple) results.get(device))
                        .elements()
                        .get(output)
                        .literal();
                for (int i = 0; i < got.size(); i++) {
                    assertThat(isSame(got.asDouble(i), wanted.asDouble(i)))
                            .as(
                                    "element %d of %s on device %d must be %s, but is %s (mesh %s, strategies of seed %d)",
                                    i, made, device, wanted.asDouble(i), got.asDouble(i), mesh, seed)
                            .isTrue();
                }
            }
        }
    }

    /** NaN where NaN is, the same infinity, else nearly equal. */
    static boolean isSame(double got, double wanted) {
        return Double.compare(got, wanted) == 0 || Math.abs(got - wanted) <= 1e-9 * (1 + Math.abs(wanted));
    }
}

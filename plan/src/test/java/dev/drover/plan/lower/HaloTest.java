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
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.task.TensorSlice;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ops that read through a window, cut along it in every legal way on 2, 4, and 2 x 2 devices, are the whole op: the devices exchange
 * halos. So are products whose dims do not divide: blocks are padded. Attributes and inputs are drawn at random, with and without
 * infinities and NaN; {@code -Dseed=} draws others.
 */
class HaloTest {
    private static final List<Mesh> MESHES = List.of(Mesh.of(2), Mesh.of(4), Mesh.of(2, 2));
    private static final int CASES = 12;

    /** The strategies by which devices exchanged pieces, and how many instructions were tried. */
    private record Tried(int exchanging, int ops) {
        Tried and(Tried other) {
            return new Tried(exchanging + other.exchanging, ops + other.ops);
        }
    }

    private static final String REDUCERS = """
            HloModule halo

            sum {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT s = f64[] add(a, b)
            }

            larger {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT m = f64[] maximum(a, b)
            }

            keeps {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT k = pred[] compare(a, b), direction=%s
            }

            """;

    private static Random random(String name) {
        return new Random(Long.getLong("seed", 1) * 1000 + name.hashCode());
    }

    /** Checks the only op of an entry whose other instructions are parameters and constants. */
    private static Tried check(String entry, Random random) {
        return check(entry, "GE", random);
    }

    private static Tried check(String entry, String keeps, Random random) {
        String text = String.format(REDUCERS, keeps) + "ENTRY main {\n" + entry + "\n}\n";
        Computation computation;
        try {
            computation = HloReader.read("halo.hlo", text).entry();
        } catch (dev.drover.ir.UserError e) {
            throw new AssertionError(text, e);
        }
        Instruction op = computation.root();
        if (op.array().elements() == 0) {
            return new Tried(0, 0);
        }
        List<Literal> finite = new ArrayList<>();
        List<Literal> special = new ArrayList<>();
        for (Instruction parameter : computation.parameters()) {
            finite.add(values(parameter.array(), random));
            special.add(SpecialValuesTest.sprinkled(finite.get(finite.size() - 1), new Random(entry.hashCode())));
        }
        Literal expected = Evaluator.evaluate(computation, finite).literal();
        Literal expectedOfSpecial = Evaluator.evaluate(computation, special).literal();
        int exchanging = 0;
        for (Mesh mesh : MESHES) {
            OpShardings shardings = new OpShardings(op, mesh);
            for (OpStrategy strategy : shardings.all()) {
                if (shardings.exchanges(strategy)) {
                    checkCut(computation, strategy, mesh, finite, expected);
                    checkCut(computation, strategy, mesh, special, expectedOfSpecial);
                    exchanging++;
                }
            }
        }
        return new Tried(exchanging, 1);
    }

    /** Some values occur often, so that a maximum is not alone. */
    private static Literal values(ArrayShape shape, Random random) {
        double[] values = new double[Math.toIntExact(shape.elements())];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextInt(9) - 4;
            values[i] += random.nextBoolean() ? random.nextDouble() : 0;
        }
        return Literal.ofDoubles(shape, values);
    }

    private static Lowered lower(Computation computation, OpStrategy strategy, Mesh mesh) {
        List<OpStrategy> strategies =
                new ArrayList<>(Collections.nCopies(computation.size(), OpStrategy.replicated(mesh.rank())));
        strategies.set(computation.root().id(), strategy);
        ShardingDecisions decisions = ShardingDecisions.of(computation, List.of(-1), strategies, mesh);
        return Lowering.lower(
                computation,
                decisions,
                new Resharder(mesh, (kind, axis, bytes) -> bytes),
                ReshardSites.single(computation));
    }

    private static void checkCut(
            Computation computation, OpStrategy strategy, Mesh mesh, List<Literal> inputs, Literal expected) {
        Lowered lowered = lower(computation, strategy, mesh);
        List<Value> results =
                SpmdEvaluator.evaluate(lowered.local(), Collections.nCopies(mesh.devices(), List.copyOf(inputs)));
        for (int device = 0; device < mesh.devices(); device++) {
            Literal wanted = TensorSlice.of(expected.shape(), lowered.outputs().get(0), mesh, device)
                    .extract(expected);
            Literal got = ((Value.Tuple) results.get(device)).elements().get(0).literal();
            assertThat(got.shape()).isEqualTo(wanted.shape());
            for (int i = 0; i < got.size(); i++) {
                assertThat(SpecialValuesTest.isSame(got.asDouble(i), wanted.asDouble(i)))
                        .as(
                                "element %d on device %d of %s by %s, strategy %s on %s must be %s, but is %s",
                                i,
                                device,
                                computation.root(),
                                new OpShardings(computation.root(), mesh).rule(),
                                strategy.choiceByAxis(),
                                mesh,
                                wanted.asDouble(i),
                                got.asDouble(i))
                        .isTrue();
            }
        }
    }

    private static long between(Random random, long low, long high) {
        return low + random.nextInt(Math.toIntExact(high - low + 1));
    }

    /** A window dim that has outputs over this many inputs. */
    private static dev.drover.ir.ops.Window.Dim window(Random random, long inputs, boolean dilations) {
        while (true) {
            long size = between(random, 1, inputs >= 8 && random.nextInt(3) == 0 ? inputs : 4);
            long base = dilations ? between(random, 1, 2) : 1;
            long dilation = dilations ? between(random, 1, 2) : 1;
            dev.drover.ir.ops.Window.Dim dim = new dev.drover.ir.ops.Window.Dim(
                    size,
                    between(random, 1, 3),
                    between(random, -1, Math.min(4, size)),
                    between(random, -1, Math.min(4, size)),
                    base,
                    dilation,
                    dilations && random.nextInt(4) == 0);
            if (dim.outputs(inputs) > 0) {
                return dim;
            }
        }
    }

    private static String shape(long... dims) {
        return ArrayShape.of(dev.drover.ir.type.DType.F64, dims).toString();
    }

    @Test
    void convolutions() {
        Random random = random("convolutions");
        Tried tried = new Tried(0, 0);
        while (tried.ops() < CASES) {
            long height = 4 * between(random, 1, 4);
            long width = 2 * between(random, 1, 4);
            var rows = window(random, height, true);
            var columns = window(random, width, true);
            long features = random.nextInt(3) == 0 ? 2 : 1;
            long batches = features == 1 && random.nextInt(3) == 0 ? 2 : 1;
            String window = new dev.drover.ir.ops.Window(List.of(rows, columns)).toString();
            tried = tried.and(check(
                    "x = " + shape(2, height, width, 2) + " parameter(0)\n"
                            + "w = " + shape(rows.size(), columns.size(), 2 / features, 4) + " parameter(1)\n"
                            + "ROOT y = "
                            + shape(2 / batches, rows.outputs(height), columns.outputs(width), 4)
                            + " convolution(x, w), window=" + window + ", dim_labels=b01f_01io->b01f,"
                            + " feature_group_count=" + features + ", batch_group_count=" + batches,
                    random));
        }
        assertThat(tried.exchanging()).isGreaterThan(8 * CASES);
    }

    /** As a training step of a small image model has them: forward, gradient of the input, gradient of the kernel. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "2,16,16,3;3,3,3,4;2,16,16,4;size=3x3 pad=1_1x1_1;b01f_01io->b01f",
                "2,16,16,3;3,3,3,4;2,8,8,4;size=3x3 stride=2x2 pad=0_1x0_1;b01f_01io->b01f",
                "2,16,16,3;1,1,3,4;2,8,8,4;size=1x1 stride=2x2;b01f_01io->b01f",
                "2,8,8,4;3,3,3,4;2,16,16,3;size=3x3 pad=2_1x2_1 lhs_dilate=2x2;b01f_01oi->b01f",
                "2,8,8,4;1,1,3,4;2,16,16,3;size=1x1 pad=0_1x0_1 lhs_dilate=2x2;b01f_01oi->b01f",
                "2,16,16,3;2,16,16,4;3,3,3,4;size=16x16 pad=1_1x1_1;f01b_i01o->01bf",
                "2,16,16,3;2,8,8,4;3,3,3,4;size=8x8 pad=0_1x0_1 rhs_dilate=2x2;f01b_i01o->01bf",
                "2,16,16,3;2,8,8,4;1,1,3,4;size=8x8 pad=0_-1x0_-1 rhs_dilate=2x2;f01b_i01o->01bf",
                "2,16,16,3;3,3,3,4;2,14,14,4;size=3x3;b01f_01io->b01f",
                "2,16,16,3;5,5,3,4;2,16,16,4;size=5x5 pad=4_4x4_4 rhs_dilate=2x2;b01f_01io->b01f",
            })
    void convolutionsOfModels(String text) {
        String[] parts = text.split(";", -1);
        Tried tried = check(
                "x = f64[" + parts[0] + "] parameter(0)\nw = f64[" + parts[1] + "] parameter(1)\nROOT y = f64["
                        + parts[2] + "] convolution(x, w), window={" + parts[3] + "}, dim_labels=" + parts[4],
                random(text));
        assertThat(tried.exchanging()).isGreaterThan(10);
    }

    @ParameterizedTest
    @CsvSource({"sum,0", "sum,1.5", "larger,-inf", "larger,0.25"})
    void windowReductions(String reducer, String initial) {
        Random random = random(reducer + initial);
        Tried tried = new Tried(0, 0);
        while (tried.ops() < CASES) {
            long height = 4 * between(random, 1, 4);
            long width = 2 * between(random, 1, 4);
            var single = dev.drover.ir.ops.Window.Dim.single();
            var rows = window(random, height, true);
            var columns = random.nextBoolean() ? window(random, width, true) : single;
            var window = new dev.drover.ir.ops.Window(List.of(single, rows, columns));
            tried = tried.and(check(
                    "x = " + shape(2, height, width) + " parameter(0)\ni = f64[] constant(" + initial + ")\nROOT y = "
                            + shape(2, rows.outputs(height), columns.outputs(width))
                            + " reduce-window(x, i), window=" + window + ", to_apply=" + reducer,
                    random));
        }
        assertThat(tried.exchanging()).isGreaterThan(CASES);
    }

    @ParameterizedTest
    @CsvSource({"GE,0", "GT,0.5", "LE,0", "LT,0"})
    void selectAndScatter(String keeps, String initial) {
        Random random = random(keeps);
        Tried tried = new Tried(0, 0);
        while (tried.ops() < CASES) {
            var single = dev.drover.ir.ops.Window.Dim.single();
            long stride = between(random, 1, 3);
            long size = between(random, Math.max(1, stride - 1), stride + 2);
            long sources = 4 * between(random, 1, 2);
            long height = stride * sources;
            // as many outputs as the stride gives, padding shared at random
            long padding = (sources - 1) * stride + size - height;
            long low = padding <= 0 ? between(random, -1, 0) : between(random, 0, padding);
            var rows = new dev.drover.ir.ops.Window.Dim(size, stride, low, padding - low);
            boolean square = random.nextBoolean();
            var columns = square ? rows : single;
            long width = square ? height : 2;
            var window = new dev.drover.ir.ops.Window(List.of(single, rows, columns));
            tried = tried.and(check(
                    "x = " + shape(2, height, width) + " parameter(0)\ns = "
                            + shape(2, rows.outputs(height), columns.outputs(width)) + " parameter(1)\n"
                            + "i = f64[] constant(" + initial + ")\nROOT y = " + shape(2, height, width)
                            + " select-and-scatter(x, s, i), window=" + window
                            + ", select=keeps, scatter=sum",
                    keeps,
                    random));
        }
        assertThat(tried.exchanging()).isGreaterThan(CASES);
    }

    @Test
    void pads() {
        Random random = random("pads");
        Tried tried = new Tried(0, 0);
        while (tried.ops() < CASES) {
            StringBuilder padding = new StringBuilder();
            long[] from = {4 * between(random, 1, 3), 2 * between(random, 1, 4)};
            long[] to = new long[2];
            for (int d = 0; d < 2; d++) {
                long interior = random.nextInt(3) == 0 ? between(random, 1, 2) : 0;
                long low = between(random, -2, 4);
                long high = random.nextBoolean() ? -low + interior : between(random, -1, 4);
                to[d] = low + high + from[d] + (from[d] - 1) * interior;
                padding.append(d == 0 ? "" : "x")
                        .append(low)
                        .append('_')
                        .append(high)
                        .append('_')
                        .append(interior);
            }
            if (to[0] < 0 || to[1] < 0) {
                continue;
            }
            tried = tried.and(check(
                    "x = " + shape(from) + " parameter(0)\nv = f64[] parameter(1)\nROOT y = " + shape(to)
                            + " pad(x, v), padding=" + padding,
                    random));
        }
        assertThat(tried.exchanging()).isGreaterThan(CASES);
    }

    @Test
    void slices() {
        Random random = random("slices");
        Tried tried = new Tried(0, 0);
        while (tried.ops() < CASES) {
            long[] from = {8 * between(random, 1, 2), 4 * between(random, 1, 4)};
            long[] to = new long[2];
            StringBuilder ranges = new StringBuilder();
            for (int d = 0; d < 2; d++) {
                long stride = between(random, 1, 3);
                long start = between(random, 0, 3);
                long limit = random.nextBoolean() ? from[d] : between(random, start + 1, from[d]);
                to[d] = (limit - start + stride - 1) / stride;
                ranges.append(d == 0 ? "" : ", ").append("[" + start + ":" + limit + ":" + stride + "]");
            }
            tried = tried.and(check(
                    "x = " + shape(from) + " parameter(0)\nROOT y = " + shape(to) + " slice(x), slice={" + ranges + "}",
                    random));
        }
        assertThat(tried.exchanging()).isGreaterThan(CASES);
    }

    /** Nine heads on four devices, seven features on two, and the like. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "x = f64[9,3,5] parameter(0)\ny = f64[9,5,6] parameter(1)\nROOT z = f64[9,3,6] dot(x, y),"
                        + " lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
                "x = f64[4,7] parameter(0)\ny = f64[5,7] parameter(1)\nROOT z = f64[4,5] dot(x, y),"
                        + " lhs_contracting_dims={1}, rhs_contracting_dims={1}",
                "x = f64[3,8,6,5] parameter(0)\nw = f64[3,3,5,7] parameter(1)\nROOT y = f64[3,8,6,7] convolution(x, w),"
                        + " window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
                "x = f64[3,8,6,10] parameter(0)\nw = f64[3,3,5,14] parameter(1)\nROOT y = f64[3,8,6,14] convolution(x, w),"
                        + " window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=2",
            })
    void dimsThatDoNotDivide(String entry) {
        assertThat(check(entry, random(entry)).exchanging()).isGreaterThan(3);
    }

    @Test
    void paddedBlocksAreGatheredOrTermsOfASum() {
        Computation computation = HloReader.read(
                        "halo.hlo",
                        String.format(REDUCERS, "GE")
                                + "ENTRY main {\nx = f64[9,7] parameter(0)\ny = f64[7,6] parameter(1)\n"
                                + "ROOT z = f64[9,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n")
                .entry();
        Mesh mesh = Mesh.of(4);
        OpShardings shardings = new OpShardings(computation.root(), mesh);
        List<String> results = new ArrayList<>();
        for (OpStrategy strategy : shardings.all()) {
            if (shardings.pads(strategy, 0)) {
                results.add(shardings.result(strategy, 0).text(mesh));
                assertThat(shardings.operand(strategy, 0).isReplicated()).isTrue();
            }
        }
        // 9 rows, 6 columns, 7 terms
        assertThat(results).containsExactly("x:R", "x:R", "x:P(sum)");
    }

    @Test
    void reverses() {
        Tried tried = check(
                "x = f64[8,3,4] parameter(0)\nROOT y = f64[8,3,4] reverse(x), dimensions={0,2}", random("reverses"));
        assertThat(tried.exchanging()).isGreaterThan(10);
    }

    /** Where halos would bring as much as a gather, or parts would need other windows, there is no strategy. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "x = f64[8] parameter(0)\ni = f64[] constant(0)\n"
                        + "ROOT y = f64[8] reduce-window(x, i), window={size=8 pad=7_0}, to_apply=sum",
                "x = f64[8] parameter(0)\nv = f64[] parameter(1)\nROOT y = f64[16] pad(x, v), padding=0_8",
                "x = f64[8] parameter(0)\nv = f64[] parameter(1)\nROOT y = f64[15] pad(x, v), padding=0_0_1",
                "x = f64[8] parameter(0)\ns = f64[4] parameter(1)\ni = f64[] constant(0)\n"
                        + "ROOT y = f64[8] select-and-scatter(x, s, i), window={size=1 stride=3 pad=1_1},"
                        + " select=keeps, scatter=sum",
                "x = f64[8] parameter(0)\ns = f64[4] parameter(1)\ni = f64[] constant(0)\n"
                        + "ROOT y = f64[8] select-and-scatter(x, s, i), window={size=2 stride=2},"
                        + " select=keeps, scatter=larger",
            })
    void noHalo(String entry) {
        assertThat(check(entry, random(entry)).exchanging()).isZero();
    }

    /** A convolution cut along its rows sends one row each way, and nothing else. */
    @Test
    void rowsAreSentBothWays() {
        Computation computation = HloReader.read(
                        "halo.hlo",
                        String.format(REDUCERS, "GE")
                                + "ENTRY main {\nx = f64[2,8,6,3] parameter(0)\nw = f64[3,3,3,4] parameter(1)\n"
                                + "ROOT y = f64[2,8,6,4] convolution(x, w), window={size=3x3 pad=1_1x1_1},"
                                + " dim_labels=b01f_01io->b01f\n}\n")
                .entry();
        Mesh mesh = Mesh.of(4);
        OpShardings shardings = new OpShardings(computation.root(), mesh);
        OpStrategy rows = shardings.all().stream()
                .filter(s -> shardings.exchanges(s)
                        && shardings.operand(s, 0).text(mesh).equals("x:S1/2"))
                .findFirst()
                .orElseThrow();
        TreeMap<String, Long> bytesByCollective = new TreeMap<>();
        for (Instruction instruction : lower(computation, rows, mesh).local().instructions()) {
            for (CollectiveKind kind : CollectiveKind.values()) {
                if (kind.opcode().equals(instruction.op().opcode())) {
                    bytesByCollective.merge(kind.opcode(), instruction.shape().sizeBytes(), Long::sum);
                }
            }
        }
        assertThat(bytesByCollective).containsExactly(java.util.Map.entry("collective-permute", 2L * (2 * 6 * 3) * 8));
    }
}

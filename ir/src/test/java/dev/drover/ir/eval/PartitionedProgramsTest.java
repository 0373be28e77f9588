package dev.drover.ir.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.ReplicaGroups;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Programs that XLA partitioned for 8 devices, evaluated on 8 devices in step, against the programs that they were made from: the same
 * loss on random inputs, and each device's results are blocks of the whole ones. Holds collectives and their groups against XLA's meaning.
 */
class PartitionedProgramsTest {
    private static final Pattern TILES =
            Pattern.compile("\\{devices=\\[([0-9,]+)\\](<=.*?)( last_tile_dim_replicate)?\\}");
    private static final int DEVICES = 8;
    private static final Path CORPUS = Path.of("..", "..", "shared", "corpus", "jax");

    @ParameterizedTest
    @ValueSource(strings = {"mlp8_tiny", "moe_tiny", "vgg_tiny", "gpt_tiny_scan"})
    void partsComputeTheWhole(String model) {
        assumeTrue(Files.isDirectory(CORPUS), "The corpus (" + CORPUS + ") is not here.");
        Path folder = CORPUS.resolve(model);
        Computation whole = HloReader.read(folder.resolve("step.hlo")).entry();
        Graph parts = HloReader.read(folder.resolve("step_4x2_after_spmd_partition.hlo.gz"));
        Random random = new Random(14);
        List<Literal> inputs = new ArrayList<>();
        for (Instruction parameter : whole.parameters()) {
            inputs.add(random(parameter.array(), random));
        }
        List<List<Value>> inputsByDevice = new ArrayList<>();
        for (int device = 0; device < DEVICES; device++) {
            List<Value> mine = new ArrayList<>();
            for (Instruction parameter : parts.entry().parameters()) {
                String sharding = parameter.annotations().getOrDefault("sharding", "{replicated}");
                Literal block = block(inputs.get(mine.size()), sharding, device);
                assertThat(block.shape()).isEqualTo(parameter.array());
                mine.add(block);
            }
            inputsByDevice.add(mine);
        }
        List<Value> expected = ((Value.Tuple) Evaluator.evaluate(whole, inputs)).elements();
        List<Value> results = SpmdEvaluator.evaluate(parts.entry(), inputsByDevice);
        double loss = expected.get(expected.size() - 1).literal().asDouble(0);
        assertThat(loss).isFinite();
        for (Value result : results) {
            List<Value> mine = ((Value.Tuple) result).elements();
            assertThat(mine.get(mine.size() - 1).literal().asDouble(0))
                    .isEqualTo(loss, within(1e-4 * (1 + Math.abs(loss))));
            for (int i = 0; i < mine.size(); i++) {
                assertThat(isBlock(mine.get(i).literal(), expected.get(i).literal()))
                        .as("result %d of %s", i, model)
                        .isTrue();
            }
        }
    }

    private static Literal random(ArrayShape shape, Random random) {
        Literal out = Literal.zeros(shape);
        for (int i = 0; i < out.size(); i++) {
            if (shape.dtype().isFloat()) {
                out.doubles()[i] = (float) (random.nextDouble() * 0.4 + 0.05);
            } else {
                out.longs()[i] = shape.rank() == 0 ? 3 : random.nextInt(8);
            }
        }
        assertThat(shape.dtype()).isIn(DType.F32, DType.S32);
        return out;
    }

    /** A device's block by an HLO sharding: {@code {devices=[4,1,2]<=[8] last_tile_dim_replicate}}. */
    private static Literal block(Literal whole, String sharding, int device) {
        Matcher matcher = TILES.matcher(sharding);
        if (!matcher.matches()) {
            assertThat(sharding).isEqualTo("{replicated}");
            return whole;
        }
        long[] tiles = List.of(matcher.group(1).split(",", -1)).stream()
                .mapToLong(Long::parseLong)
                .toArray();
        int rank = whole.shape().rank();
        List<Integer> devices = ReplicaGroups.parse("[1," + DEVICES + "]" + matcher.group(2))
                .groups()
                .get(0);
        long at = devices.indexOf(device);
        long[] starts = new long[rank];
        long[] sizes = whole.shape().dims();
        for (int d = tiles.length - 1; d >= 0; d--) {
            if (d < rank) {
                sizes[d] /= tiles[d];
                starts[d] = at % tiles[d] * sizes[d];
            }
            at /= tiles[d];
        }
        return slice(whole, starts, sizes);
    }

    private static Literal slice(Literal whole, long[] starts, long[] sizes) {
        Literal out = Literal.zeros(whole.shape().withDims(sizes));
        long[] strides = out.shape().strides();
        long[] wholeStrides = whole.shape().strides();
        for (int i = 0; i < out.size(); i++) {
            long from = 0;
            for (int d = 0; d < sizes.length; d++) {
                from += (starts[d] + i / strides[d] % sizes[d]) * wholeStrides[d];
            }
            out.copyElement(whole, (int) from, i);
        }
        return out;
    }

    /** Whether one of the aligned blocks of the whole is close to this. */
    private static boolean isBlock(Literal part, Literal whole) {
        long[] sizes = part.shape().dims();
        long[] starts = new long[sizes.length];
        double scale = LongStream.range(0, whole.size())
                .mapToDouble(i -> Math.abs(whole.asDouble((int) i)))
                .max()
                .orElse(0);
        while (true) {
            if (isClose(part, slice(whole, starts, sizes), 1e-3 * scale + 1e-6)) {
                return true;
            }
            int d = sizes.length - 1;
            while (d >= 0 && (starts[d] += sizes[d]) >= whole.shape().dim(d)) {
                starts[d--] = 0;
            }
            if (d < 0) {
                return false;
            }
        }
    }

    private static boolean isClose(Literal a, Literal b, double tolerance) {
        for (int i = 0; i < a.size(); i++) {
            if (!(Math.abs(a.asDouble(i) - b.asDouble(i)) <= tolerance)) {
                return false;
            }
        }
        return true;
    }
}

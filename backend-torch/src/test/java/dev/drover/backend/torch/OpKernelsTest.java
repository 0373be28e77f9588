package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.backend.torch.kernel.Kernels;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Rounding;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.BinaryKind;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.ops.Conditional;
import dev.drover.ir.ops.ConvDims;
import dev.drover.ir.ops.Convolution;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.ops.ElementMap;
import dev.drover.ir.ops.Fft;
import dev.drover.ir.ops.Gather;
import dev.drover.ir.ops.GatherDims;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.Ops;
import dev.drover.ir.ops.Pad;
import dev.drover.ir.ops.Reduce;
import dev.drover.ir.ops.ReduceWindow;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.Scatter;
import dev.drover.ir.ops.ScatterDims;
import dev.drover.ir.ops.SelectAndScatter;
import dev.drover.ir.ops.Slice;
import dev.drover.ir.ops.Sort;
import dev.drover.ir.ops.TopK;
import dev.drover.ir.ops.While;
import dev.drover.ir.ops.Window;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ops that are not elementwise, on asymmetric shapes, against the reference evaluator. */
class OpKernelsTest {
    private static final TorchMemory MEMORY = new TorchMemory();

    private static ArrayShape f32(long... dims) {
        return ArrayShape.of(DType.F32, dims);
    }

    private static ArrayShape s32(long... dims) {
        return ArrayShape.of(DType.S32, dims);
    }

    private static void check(List<ArrayShape> shapes, BiFunction<OpBuilder, List<Instruction>, Instruction> body) {
        Computation computation = Check.build(shapes, body);
        Check.same(MEMORY, computation, 11);
        Check.same(MEMORY, computation, sprinkled(computation));
        boolean common = shapes.stream().allMatch(s -> s.dtype() == DType.F32);
        boolean sorts = computation.instructions().stream().anyMatch(i -> i.op() instanceof Sort);
        if (common && !sorts) {
            try (TorchProgram program = TorchProgram.compile(computation, TorchOptions.of(MEMORY))) {
                assertThat(program.hostSteps()).as("%s", computation).isEmpty();
            }
        }
    }

    /** A few infinities and NaN among the inputs. */
    private static List<Literal> sprinkled(Computation computation) {
        Random random = new Random(12);
        double[] special = {Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 0.0, -0.0};
        List<Literal> inputs = new ArrayList<>();
        for (Instruction parameter : computation.parameters()) {
            for (ArrayShape leaf : parameter.shape().leaves()) {
                Literal input = Check.random(leaf, random);
                double[] values = input.doubles();
                for (int i = 0; i < values.length && leaf.dtype().isFloat(); i++) {
                    if (random.nextInt(8) == 0) {
                        values[i] = Rounding.round(leaf.dtype(), special[random.nextInt(special.length)]);
                    }
                }
                inputs.add(input);
            }
        }
        return inputs;
    }

    @Test
    void everyOpHasARowInTheTable() {
        assertThat(Ops.ALL).extracting(k -> k.opcode()).allMatch(Kernels::knows, "has a kernel");
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "F64", "BF16", "F16", "S8", "S32", "S64", "U8", "U32", "C64", "PRED"})
    void dot(DType dtype) {
        check(
                List.of(ArrayShape.of(dtype, 5, 2, 7, 3), ArrayShape.of(dtype, 3, 4, 5, 7)),
                (b, p) -> b.builder()
                        .add(new Dot(List.of(0), List.of(2), List.of(2, 3), List.of(3, 0), dtype), p.get(0), p.get(1)));
        check(
                List.of(ArrayShape.of(dtype, 6, 4), ArrayShape.of(dtype, 6, 5)),
                (b, p) -> b.builder().add(Dot.contracting(0, 0, dtype), p.get(0), p.get(1)));
    }

    /** Also of dims that lie apart, and of lengths that are no powers of two. */
    @Test
    void fourier() {
        ArrayShape complex = ArrayShape.of(DType.C64, 3, 4, 10);
        List<Computation> all = List.of(
                Check.build(List.of(complex), (b, p) -> b.builder().add(new Fft("FFT", List.of(10L)), p)),
                Check.build(List.of(complex), (b, p) -> b.builder().add(new Fft("IFFT", List.of(3L, 4L, 10L)), p)),
                Check.build(
                        List.of(complex),
                        (b, p) -> b.builder().add(new Fft("FFT", List.of(10L, 3L)), b.transpose(p.get(0), 1, 2, 0))),
                Check.build(List.of(f32(2, 5, 8)), (b, p) -> b.builder().add(new Fft("RFFT", List.of(8L)), p)),
                Check.build(
                        List.of(f32(7, 5, 2)),
                        (b, p) -> b.builder().add(new Fft("RFFT", List.of(5L, 7L)), b.transpose(p.get(0), 2, 1, 0))),
                Check.build(List.of(complex), (b, p) -> b.builder().add(new Fft("IRFFT", List.of(18L)), p)),
                Check.build(List.of(complex), (b, p) -> b.builder().add(new Fft("IRFFT", List.of(4L, 19L)), p)));
        for (Computation computation : all) {
            Check.same(MEMORY, computation, 17);
            try (TorchProgram program = TorchProgram.compile(computation, TorchOptions.of(MEMORY))) {
                assertThat(program.hostSteps()).as("%s", computation).isEmpty();
            }
        }
    }

    @Test
    void dotOfTransposedBatches() {
        // Attention: [b, s, h, d] seen as [b, h, s, d], whose batch dims do not merge.
        check(
                List.of(f32(3, 7, 2, 4), f32(3, 5, 2, 4)),
                (b, p) -> b.builder()
                        .add(
                                new Dot(List.of(0, 1), List.of(0, 1), List.of(3), List.of(3), DType.F32),
                                b.transpose(p.get(0), 0, 2, 1, 3),
                                b.transpose(p.get(1), 0, 2, 1, 3)));
        check(List.of(f32(4), f32(4)), (b, p) -> b.builder().add(Dot.contracting(0, 0, DType.F32), p.get(0), p.get(1)));
        check(
                List.of(f32(3), f32(3, 4)),
                (b, p) -> b.builder()
                        .add(Dot.contracting(1, 0, DType.F32), b.broadcast(p.get(0), new long[] {6, 3}, 1), p.get(1)));
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "F64", "BF16", "S32", "S8", "U8", "U32", "PRED", "C64", "S64", "F16"})
    void reduce(DType dtype) {
        for (Reduction reduction : Reduction.values()) {
            boolean logical = reduction == Reduction.AND || reduction == Reduction.OR;
            boolean ordered = reduction == Reduction.MAX || reduction == Reduction.MIN;
            if (logical ? !(dtype.isInteger() || dtype == DType.PRED) : ordered && dtype.isComplex()) {
                continue;
            }
            for (List<Integer> dims : List.of(List.of(1), List.of(0, 2), List.of(0, 1, 2))) {
                check(
                        List.of(ArrayShape.of(dtype, 2, 3, 2), ArrayShape.scalar(dtype)),
                        (b, p) -> b.builder()
                                .add(new Reduce(dims, Reducers.computation(reduction, dtype)), p.get(0), p.get(1)));
                check(
                        List.of(ArrayShape.of(dtype, 3, 2, 2)),
                        (b, p) -> b.builder()
                                .add(
                                        new Reduce(dims, Reducers.computation(reduction, dtype)),
                                        b.transpose(p.get(0), 1, 0, 2),
                                        b.constant(Reducers.neutral(reduction, dtype))));
            }
        }
    }

    /** The index and the value of the largest element, as JAX writes argmax: two operands, a reducer of selects. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 8})
    void reduceOfPairs(int size) {
        ComputationBuilder builder = new ComputationBuilder("argmax");
        OpBuilder r = new OpBuilder(builder);
        Instruction x = r.parameter("x", f32());
        Instruction i = r.parameter("i", s32());
        Instruction y = r.parameter("y", f32());
        Instruction j = r.parameter("j", s32());
        Instruction first = r.or(
                r.compare(x, y, Compare.Direction.GT),
                r.and(r.compare(x, y, Compare.Direction.EQ), r.compare(i, j, Compare.Direction.LT)));
        Computation reducer = builder.build(r.tuple(r.select(first, x, y), r.select(first, i, j)));
        check(
                List.of(f32(3, size, 2)),
                (b, p) -> b.builder()
                        .add(
                                new Reduce(List.of(1), reducer),
                                p.get(0),
                                b.iota(s32(3, size, 2), 1),
                                b.constant(DType.F32, Double.NEGATIVE_INFINITY),
                                b.constant(DType.S32, 0)));
    }

    @Test
    void movement() {
        check(List.of(f32(2, 3, 4)), (b, p) -> b.reshape(b.transpose(p.get(0), 2, 0, 1), 4, 6));
        check(List.of(f32(2, 3, 4)), (b, p) -> b.reshape(p.get(0), 3, 8));
        check(
                List.of(f32(5, 6)),
                (b, p) -> b.builder().add(new Slice(List.of(1L, 0L), List.of(5L, 6L), List.of(2L, 3L)), p.get(0)));
        check(List.of(f32(3, 4)), (b, p) -> b.reverse(b.transpose(p.get(0), 1, 0), 0));
        check(List.of(f32(2, 3), f32(2, 1), f32(2, 4)), (b, p) -> b.concat(1, p.get(0), p.get(1), p.get(2)));
        check(
                List.of(f32(3, 4), f32()),
                (b, p) -> b.builder()
                        .add(new Pad(List.of(1L, -1L), List.of(-2L, 2L), List.of(2L, 0L)), p.get(0), p.get(1)));
        check(
                List.of(f32(3), f32()),
                (b, p) -> b.builder().add(new Pad(List.of(-2L), List.of(-1L), List.of(1L)), p.get(0), p.get(1)));
        check(List.of(s32(2, 3)), (b, p) -> b.add(p.get(0), b.iota(s32(2, 3), 1)));
        check(List.of(f32(3)), (b, p) -> b.broadcast(p.get(0), new long[] {2, 3, 4}, 1));
        check(List.of(f32(3, 4), f32(4, 3)), (b, p) -> b.add(b.transpose(p.get(0), 1, 0), p.get(1)));
        check(
                List.of(f32(3, 4), f32(3, 4)),
                (b, p) -> b.tuple(
                        b.mul(b.transpose(p.get(0), 1, 0), b.transpose(p.get(1), 1, 0)),
                        p.get(0),
                        p.get(0),
                        b.constant(DType.F32, 2)));
    }

    @Test
    void dynamicSlices() {
        check(List.of(f32(5, 4), s32(), s32()), (b, p) -> b.dynamicSlice(p.get(0), List.of(p.get(1), p.get(2)), 2, 3));
        check(
                List.of(f32(5, 4), f32(2, 3), s32(), s32()),
                (b, p) -> b.dynamicUpdateSlice(p.get(0), p.get(1), List.of(p.get(2), p.get(3))));
        check(
                List.of(f32(5, 4), f32(2, 3), s32(), s32()),
                (b, p) -> b.dynamicUpdateSlice(b.add(p.get(0), p.get(0)), p.get(1), List.of(p.get(2), p.get(3))));
    }

    @Test
    void gather() {
        // Rows of a table.
        check(
                List.of(f32(7, 3), s32(2, 4, 1)),
                (b, p) -> b.builder()
                        .add(
                                new Gather(new GatherDims(List.of(2), List.of(0), List.of(0), 2), List.of(1L, 3L)),
                                p.get(0),
                                p.get(1)));
        // Windows of two indexed dims, the vectors in front, offset dims around.
        check(
                List.of(f32(5, 6, 4), s32(2, 3)),
                (b, p) -> b.builder()
                        .add(
                                new Gather(
                                        new GatherDims(List.of(0, 1, 2), List.of(), List.of(2, 0), 0),
                                        List.of(2L, 6L, 3L)),
                                p.get(0),
                                p.get(1)));
        // Batching dims, single numbers as vectors.
        check(
                List.of(f32(3, 6, 2), s32(3, 5)),
                (b, p) -> b.builder()
                        .add(
                                new Gather(
                                        new GatherDims(List.of(2), List.of(1), List.of(1), List.of(0), List.of(0), 2),
                                        List.of(1L, 1L, 2L)),
                                p.get(0),
                                p.get(1)));
    }

    private static Computation assign(DType dtype) {
        ComputationBuilder builder = new ComputationBuilder("assign");
        builder.parameter("old", ArrayShape.scalar(dtype));
        return builder.build(builder.parameter("new", ArrayShape.scalar(dtype)));
    }

    @Test
    void scatter() {
        for (Reduction reduction : List.of(Reduction.SUM, Reduction.MAX, Reduction.MIN, Reduction.PROD)) {
            Computation combiner = Reducers.computation(reduction, DType.F32);
            check(
                    List.of(f32(5, 3), s32(4, 1), f32(4, 3)),
                    (b, p) -> b.builder()
                            .add(new Scatter(new ScatterDims(List.of(1), List.of(0), List.of(0), 1), combiner), p));
            // Windows that hang over the edge, and an index dim after the window.
            check(
                    List.of(f32(5, 6, 2), s32(2, 3), f32(2, 3, 2, 2)),
                    (b, p) -> b.builder()
                            .add(
                                    new Scatter(
                                            new ScatterDims(List.of(0, 2, 3), List.of(), List.of(1, 0), 0), combiner),
                                    p));
            check(
                    List.of(f32(3, 6), s32(3, 4), f32(3, 4)),
                    (b, p) -> b.builder()
                            .add(
                                    new Scatter(
                                            new ScatterDims(
                                                    List.of(), List.of(1), List.of(1), List.of(0), List.of(0), 2),
                                            combiner),
                                    p));
        }
        check(
                List.of(f32(9, 3), s32(2, 1), f32(2, 3)),
                (b, p) -> b.builder()
                        .add(
                                new Scatter(new ScatterDims(List.of(1), List.of(0), List.of(0), 1), assign(DType.F32)),
                                p));
    }

    private static Window window(Window.Dim... dims) {
        return new Window(List.of(dims));
    }

    @Test
    void reduceWindow() {
        Window window = window(
                Window.Dim.single(),
                new Window.Dim(3, 2, 1, 0),
                new Window.Dim(2, 1, 0, 2, 1, 2, false),
                new Window.Dim(2, 1, -1, 1, 2, 1, false));
        for (Reduction reduction : List.of(Reduction.SUM, Reduction.MAX, Reduction.MIN, Reduction.PROD)) {
            check(
                    List.of(f32(2, 5, 6, 3), f32()),
                    (b, p) -> b.builder().add(new ReduceWindow(window, Reducers.computation(reduction, DType.F32)), p));
            check(
                    List.of(f32(2, 5, 6, 3)),
                    (b, p) -> b.builder()
                            .add(
                                    new ReduceWindow(window, Reducers.computation(reduction, DType.F32)),
                                    p.get(0),
                                    b.constant(Reducers.neutral(reduction, DType.F32))));
        }
    }

    @Test
    void selectAndScatter() {
        ComputationBuilder builder = new ComputationBuilder("ge");
        OpBuilder s = new OpBuilder(builder);
        Computation select =
                builder.build(s.compare(s.parameter("x", f32()), s.parameter("y", f32()), Compare.Direction.GE));
        Op choose = new SelectAndScatter(
                window(Window.Dim.single(), new Window.Dim(3, 2, 1, 1), new Window.Dim(2, 2, 0, 0)),
                select,
                Reducers.computation(Reduction.SUM, DType.F32));
        check(List.of(f32(2, 5, 6), f32(2, 3, 3), f32()), (b, p) -> b.builder().add(choose, p));
        Op somePositionsSeePaddingOnly = new SelectAndScatter(
                window(Window.Dim.single(), new Window.Dim(2, 2, 2, -1), new Window.Dim(2, 2, 0, 0)),
                select,
                Reducers.computation(Reduction.SUM, DType.F32));
        Check.same(
                MEMORY,
                Check.build(
                        List.of(f32(2, 5, 6), f32(2, 3, 3), f32()),
                        (b, p) -> b.builder().add(somePositionsSeePaddingOnly, p)),
                11);
    }

    /** Padding is zeros like any other, however it is made: times an infinite kernel value it is NaN. */
    @Test
    void convolutionByInfiniteKernels() {
        ConvDims dims = ConvDims.parse("b01f_01io->b01f");
        for (Window window : List.of(
                window(new Window.Dim(3, 1, 1, 1), new Window.Dim(3, 1, 1, 1)),
                window(new Window.Dim(3, 1, 0, 0), new Window.Dim(3, 1, 0, 0)),
                window(new Window.Dim(3, 2, 1, 1), new Window.Dim(3, 1, 2, 0)),
                window(new Window.Dim(3, 1, 2, 2, 2, 1, true), new Window.Dim(3, 1, 1, 1)))) {
            for (DType dtype : List.of(DType.F32, DType.F64, DType.BF16)) {
                Computation computation = Check.build(
                        List.of(
                                input(dims, 2, 4, 7, 5).withDType(dtype),
                                kernel(dims, 4, 6, 3, 3).withDType(dtype)),
                        (b, p) -> b.builder().add(new Convolution(window, dims, 1, 1, dtype), p));
                Random random = new Random(3);
                for (double value : List.of(Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN)) {
                    List<Literal> inputs = new ArrayList<>();
                    computation.parameters().forEach(p -> inputs.add(Check.random(p.array(), random)));
                    inputs.get(1).doubles()[random.nextInt(inputs.get(1).size())] = value;
                    Check.same(MEMORY, computation, inputs);
                }
            }
        }
    }

    /** Blocks of channels that are not full, and those that are; whole numbers, of which the sums are exact. */
    @Test
    void convolutionOfAnyNumberOfChannels() {
        Random random = new Random(17);
        List<ConvDims> labels = List.of(ConvDims.parse("b01f_01io->b01f"), ConvDims.parse("bf01_oi01->bf01"));
        for (DType dtype : List.of(DType.F32, DType.BF16, DType.F16, DType.F64)) {
            for (int i = 0; i < 40; i++) {
                ConvDims dims = labels.get(i % 2);
                long groups = i % 4 == 3 ? 1 + random.nextInt(4) : 1;
                int in = 1 + random.nextInt(i % 8 == 0 ? 70 : 40);
                long out = groups * (1 + random.nextInt(40));
                int size = 1 + random.nextInt(3);
                boolean kernelGradient = i % 5 == 4;
                Window window = kernelGradient
                        ? window(new Window.Dim(5, 1, 1, 1), new Window.Dim(4, 1, 1, 1, 1, 2, false))
                        : window(
                                new Window.Dim(size, 1 + random.nextInt(2), random.nextInt(2), random.nextInt(2)),
                                new Window.Dim(size, 1, 1, 1));
                long[] taps = window.dims().stream().mapToLong(Window.Dim::size).toArray();
                Computation computation = Check.build(
                        List.of(
                                input(dims, 2, in * groups, 5, 6).withDType(dtype),
                                kernel(dims, in, out, taps[0], taps[1]).withDType(dtype)),
                        (b, p) -> b.builder().add(new Convolution(window, dims, groups, 1, dtype), p));
                List<Literal> inputs = new ArrayList<>();
                computation.parameters().forEach(p -> {
                    Literal whole = Check.random(p.array(), random);
                    Arrays.setAll(whole.doubles(), at -> random.nextInt(7) - 3);
                    inputs.add(whole);
                });
                Check.same(MEMORY, computation, inputs);
            }
        }
    }

    /** Forward, with all attributes, and the forms that gradients take. */
    @Test
    void convolution() {
        List<String> labels = List.of("b01f_01io->b01f", "bf01_oi01->bf01", "fb01_io10->f01b");
        for (String label : labels) {
            ConvDims dims = ConvDims.parse(label);
            for (Window window : List.of(
                    window(new Window.Dim(3, 1, 1, 1), new Window.Dim(2, 1, 0, 0)),
                    window(new Window.Dim(3, 2, 0, 1), new Window.Dim(2, 3, 2, -1)),
                    window(new Window.Dim(3, 1, 2, 2, 2, 1, true), new Window.Dim(2, 1, 1, 1, 1, 2, false)))) {
                check(
                        List.of(input(dims, 2, 4, 7, 6), kernel(dims, 4, 5, 3, 2)),
                        (b, p) -> b.builder().add(new Convolution(window, dims, 1, 1, DType.F32), p));
                check(
                        List.of(input(dims, 2, 4, 7, 6), kernel(dims, 2, 6, 3, 2)),
                        (b, p) -> b.builder().add(new Convolution(window, dims, 2, 1, DType.F32), p));
                check(
                        List.of(input(dims, 4, 3, 7, 6), kernel(dims, 3, 6, 3, 2)),
                        (b, p) -> b.builder().add(new Convolution(window, dims, 1, 2, DType.F32), p));
            }
        }
        // A window larger than the result: the gradient of the kernel of a strided convolution.
        ConvDims dims = ConvDims.parse("f01b_i01o->01bf");
        Window window = window(new Window.Dim(4, 1, 1, 0, 1, 2, false), new Window.Dim(6, 1, 1, 1));
        check(
                List.of(f32(3, 8, 6, 2), f32(2, 4, 6, 5)),
                (b, p) -> b.builder()
                        .add(new Convolution(window, ConvDims.parse("b01f_i01o->01bf"), 1, 1, DType.F32), p));
        check(
                List.of(f32(2, 8, 6, 3), f32(2, 4, 6, 5)),
                (b, p) -> b.builder().add(new Convolution(window, dims, 1, 1, DType.F32), p));
        check(
                List.of(f32(2, 9, 3), f32(4, 3, 5)),
                (b, p) -> b.builder()
                        .add(
                                new Convolution(
                                        window(new Window.Dim(4, 2, 1, 1)),
                                        ConvDims.parse("b0f_0io->b0f"),
                                        1,
                                        1,
                                        DType.F32),
                                p));
    }

    private static ArrayShape input(ConvDims dims, long batch, long features, long height, long width) {
        long[] out = new long[4];
        out[dims.inputBatch()] = batch;
        out[dims.inputFeature()] = features;
        out[dims.inputSpatial().get(0)] = height;
        out[dims.inputSpatial().get(1)] = width;
        return f32(out);
    }

    private static ArrayShape kernel(ConvDims dims, long in, long out, long height, long width) {
        long[] sizes = new long[4];
        sizes[dims.kernelInput()] = in;
        sizes[dims.kernelOutput()] = out;
        sizes[dims.kernelSpatial().get(0)] = height;
        sizes[dims.kernelSpatial().get(1)] = width;
        return f32(sizes);
    }

    @Test
    void sorts() {
        for (DType dtype : List.of(DType.S32, DType.F32)) {
            for (Compare.Direction direction : List.of(Compare.Direction.LT, Compare.Direction.GT)) {
                ComputationBuilder builder = new ComputationBuilder("by_key");
                OpBuilder c = new OpBuilder(builder);
                Instruction x = c.parameter("x", ArrayShape.scalar(dtype));
                Instruction y = c.parameter("y", ArrayShape.scalar(dtype));
                c.parameter("i", s32());
                c.parameter("j", s32());
                Computation comparator = builder.build(c.compare(x, y, direction));
                check(
                        List.of(ArrayShape.of(dtype, 3, 9)),
                        (b, p) -> b.builder().add(new Sort(1, true, comparator), p.get(0), b.iota(s32(3, 9), 1)));
            }
        }
        check(List.of(f32(3, 7)), (b, p) -> b.builder().add(new TopK(4, true), p.get(0)));
        check(List.of(s32(7)), (b, p) -> b.builder().add(new TopK(3, false), p.get(0)));
    }

    /** Fibonacci numbers, a swap, an accumulation in place and a value that stays. */
    @Test
    void loop() {
        TupleShape state = new TupleShape(List.of(s32(), f32(3), f32(3), f32(8, 3), f32(3)));
        ComputationBuilder conditionBuilder = new ComputationBuilder("condition");
        OpBuilder c = new OpBuilder(conditionBuilder);
        Instruction at = c.element(c.parameter("s", state), 0);
        Computation condition = conditionBuilder.build(c.compare(at, 7, Compare.Direction.LT));
        ComputationBuilder bodyBuilder = new ComputationBuilder("body");
        OpBuilder d = new OpBuilder(bodyBuilder);
        Instruction s = d.parameter("s", state);
        Instruction i = d.element(s, 0);
        Instruction x = d.element(s, 1);
        Instruction y = d.element(s, 2);
        Instruction log = d.element(s, 3);
        Instruction fixed = d.element(s, 4);
        Instruction sum = d.add(d.add(x, y), fixed);
        Instruction row = d.reshape(sum, 1, 3);
        Instruction written = d.dynamicUpdateSlice(log, row, List.of(i, d.constant(DType.S32, 0)));
        Computation body = bodyBuilder.build(d.tuple(d.add(i, 1), y, sum, written, fixed));
        check(
                List.of(s32(), f32(3), f32(3), f32(8, 3), f32(3)),
                (b, p) -> b.builder().add(new While(condition, body), b.tuple(p)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void conditional(boolean byPredicate) {
        List<Computation> branches = new ArrayList<>();
        for (BinaryKind kind : List.of(BinaryKind.ADD, BinaryKind.MULTIPLY)) {
            ComputationBuilder builder = new ComputationBuilder("branch");
            OpBuilder b = new OpBuilder(builder);
            Instruction x = b.parameter("x", f32(3));
            branches.add(builder.build(b.binary(kind, x, x)));
        }
        ArrayShape choice = ArrayShape.scalar(byPredicate ? DType.PRED : DType.S32);
        for (long seed = 0; seed < 4; seed++) {
            Check.same(
                    MEMORY,
                    Check.build(
                            List.of(choice, f32(3), f32(3)),
                            (b, p) -> b.builder().add(new Conditional(branches, byPredicate), p)),
                    seed);
        }
    }

    @Test
    void map() {
        ComputationBuilder builder = new ComputationBuilder("f");
        OpBuilder f = new OpBuilder(builder);
        Instruction x = f.parameter("x", f32());
        Computation function = builder.build(f.select(f.compare(x, 0, Compare.Direction.GT), f.exp(x), f.mul(x, 3)));
        check(List.of(f32(3, 5)), (b, p) -> b.builder().add(new ElementMap(List.of(0, 1), function), p.get(0)));
    }
}

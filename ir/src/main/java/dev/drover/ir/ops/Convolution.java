package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Convolution (XLA's, which does not mirror the kernel): with input {@code [N, S.., C]}, kernel {@code [K.., I, F]} and result
 * {@code [N, O.., F]} in the dims that {@link ConvDims} names,
 *
 * <pre>  out[n, o, f] = sum over kernel positions k and i of in[n, o*stride - padLow + k*windowDilation, group(f)*I + i] * kernel[k, i, f]</pre>
 *
 * where positions count in the input dilated by {@code baseDilation}. Padding and holes are zeros like any other: times an infinite
 * kernel value they are NaN, as in XLA's compiled code where it pads. So a part may have zeros where the whole has padding.
 *
 * @param window over the spatial dims in the order of their labels
 * @param featureGroups C = featureGroups * I; output feature f reads input features of group {@code f / (F / featureGroups)}
 * @param batchGroups the result has N / batchGroups batch entries; output feature f reads the batch block {@code f / (F / batchGroups)}
 * @param dtype the result's element type
 */
public record Convolution(Window window, ConvDims dims, long featureGroups, long batchGroups, DType dtype)
        implements Op {
    static final OpKind KIND = new OpKind("convolution", Convolution::parse);

    public Convolution {
        if (featureGroups < 1 || batchGroups < 1 || (featureGroups > 1 && batchGroups > 1)) {
            throw new IllegalArgumentException("The groups (" + featureGroups + " of features, " + batchGroups
                    + " of the batch) of a convolution must be at least 1, and one of them 1.");
        }
    }

    private static Op parse(OpSource source) {
        String window = source.text("window");
        return new Convolution(
                window == null ? Window.NONE : Window.parse(window),
                ConvDims.parse(source.need("dim_labels")),
                source.number("feature_group_count", 1),
                source.number("batch_group_count", 1),
                source.shape().asArray().dtype());
    }

    @Override
    public String opcode() {
        return "convolution";
    }

    @Override
    public void print(OpWriter writer) {
        if (window.rank() > 0) {
            writer.attribute("window", window.toString());
        }
        writer.attribute("dim_labels", dims.toString());
        if (featureGroups != 1) {
            writer.attribute("feature_group_count", Long.toString(featureGroups));
        }
        if (batchGroups != 1) {
            writer.attribute("batch_group_count", Long.toString(batchGroups));
        }
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        ArrayShape input = Check.array(this, operands, 0);
        ArrayShape kernel = Check.array(this, operands, 1);
        int rank = dims.spatialRank() + 2;
        Check.that(
                input.rank() == rank && kernel.rank() == rank,
                "The operands (%s and %s) of convolution must have the rank of its dim_labels (%s).",
                input,
                kernel,
                dims);
        Check.that(
                window.rank() == rank - 2,
                "The window (%s) of convolution must have %s dims, as its dim_labels (%s).",
                window,
                rank - 2,
                dims);
        long features = input.dim(dims.inputFeature());
        Check.that(
                features == kernel.dim(dims.kernelInput()) * featureGroups,
                "The input features (%s) of convolution must be those of its kernel (%s) times its feature groups (%s).",
                features,
                kernel.dim(dims.kernelInput()),
                featureGroups);
        long batch = input.dim(dims.inputBatch());
        long outputs = kernel.dim(dims.kernelOutput());
        Check.that(
                outputs % featureGroups == 0 && outputs % batchGroups == 0 && batch % batchGroups == 0,
                "The output features (%s) and the batch (%s) of convolution must divide by its groups (%s of features, %s of the"
                        + " batch).",
                outputs,
                batch,
                featureGroups,
                batchGroups);
        long[] out = new long[rank];
        out[dims.outputBatch()] = batch / batchGroups;
        out[dims.outputFeature()] = outputs;
        for (int i = 0; i < rank - 2; i++) {
            long size = kernel.dim(dims.kernelSpatial().get(i));
            Check.that(
                    size == window.dim(i).size(),
                    "The window (%s) of convolution must have the sizes of its kernel (%s).",
                    window,
                    kernel);
            out[dims.outputSpatial().get(i)] =
                    window.dim(i).outputs(input.dim(dims.inputSpatial().get(i)));
        }
        return ArrayShape.of(dtype, out);
    }

    /**
     * Batch and output features are free, input features a sum. Groups are one free factor g, major: {@code (b 0 1 (g i), 0 1 i (g o))
     * -> b 0 1 (g o)}; batch groups {@code ((g b) 0 1 i, 0 1 i (g o)) -> b 0 1 (g o)}. A spatial dim whose window is trivial (1x1,
     * stride 1) is free; any other is cut with halos along the outputs, or along the kernel, which gives terms of a sum: the
     * gradient of a kernel is a convolution whose kernel is as large as the image.
     */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape input = operands.get(0).asArray();
        ArrayShape kernel = operands.get(1).asArray();
        ArrayShape output = result.asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> in = new ArrayList<>(rule.wholeDims(input.withDims(ones(input.rank()))));
        List<List<Integer>> ker = new ArrayList<>(in);
        List<List<Integer>> out = new ArrayList<>(in);
        List<Integer> group = free(rule, featureGroups * batchGroups);
        long groups = featureGroups * batchGroups;
        List<Integer> batch = padded(rule, output.dim(dims.outputBatch()), batchGroups);
        List<Integer> outputs = padded(rule, kernel.dim(dims.kernelOutput()) / groups, groups);
        long inputs = kernel.dim(dims.kernelInput());
        List<Integer> reduced = inputs == 1
                ? List.of()
                : List.of(featureGroups == 1 ? rule.sumPadded(inputs) : rule.reduction(inputs, Reduction.SUM));
        in.set(dims.inputBatch(), batchGroups > 1 ? join(group, batch) : batch);
        in.set(dims.inputFeature(), featureGroups > 1 ? join(group, reduced) : reduced);
        ker.set(dims.kernelInput(), reduced);
        ker.set(dims.kernelOutput(), join(group, outputs));
        out.set(dims.outputBatch(), batch);
        out.set(dims.outputFeature(), join(group, outputs));
        for (int i = 0; i < window.rank(); i++) {
            int inDim = dims.inputSpatial().get(i);
            int outDim = dims.outputSpatial().get(i);
            int kernelDim = dims.kernelSpatial().get(i);
            long inSize = input.dim(inDim);
            long outSize = output.dim(outDim);
            if (window.dim(i).isTrivial()) {
                List<Integer> factor = free(rule, inSize);
                in.set(inDim, factor);
                out.set(outDim, factor);
            } else {
                Window.Dim moves = window.dim(i);
                List<Integer> readers = new ArrayList<>();
                if (outSize > 1) {
                    Halo halo = Halo.ofOutputs(moves, inSize, outSize);
                    readers.add(rule.exchanging(outSize, Factor.Kind.WINDOW, null, halo));
                    out.set(outDim, List.copyOf(readers));
                }
                if (moves.size() > 1 && !moves.reversed() && outSize > 0) {
                    Halo halo = Halo.ofTaps(moves, inSize, outSize);
                    int taps = rule.exchanging(moves.size(), Factor.Kind.WINDOW, Reduction.SUM, halo);
                    readers.add(taps);
                    ker.set(kernelDim, List.of(taps));
                } else {
                    ker.set(kernelDim, factor(rule, moves.size(), Factor.Kind.WHOLE));
                }
                in.set(inDim, inSize == 1 || !readers.isEmpty() ? readers : factor(rule, inSize, Factor.Kind.WINDOW));
            }
        }
        return rule.operand(in).operand(ker).result(out).build();
    }

    private static long[] ones(int rank) {
        long[] out = new long[rank];
        java.util.Arrays.fill(out, 1);
        return out;
    }

    /** A free factor, alone in its dims if there is one group. */
    private static List<Integer> padded(FactorRule.Builder rule, long size, long groups) {
        return size == 1 ? List.of() : List.of(groups == 1 ? rule.freePadded(size) : rule.free(size));
    }

    private static List<Integer> free(FactorRule.Builder rule, long size) {
        return factor(rule, size, Factor.Kind.FREE);
    }

    private static List<Integer> factor(FactorRule.Builder rule, long size, Factor.Kind kind) {
        return size == 1 ? List.of() : List.of(rule.factor(size, kind));
    }

    private static List<Integer> join(List<Integer> major, List<Integer> minor) {
        List<Integer> out = new ArrayList<>(major);
        out.addAll(minor);
        return out;
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0), Set.of(1));
    }

    /** Counts the products with real elements only, not with padding or holes. */
    @Override
    public long flops(List<Shape> operands, Shape result) {
        ArrayShape input = operands.get(0).asArray();
        ArrayShape kernel = operands.get(1).asArray();
        ArrayShape output = result.asArray();
        long products =
                output.dim(dims.outputBatch()) * output.dim(dims.outputFeature()) * kernel.dim(dims.kernelInput());
        for (int i = 0; i < window.rank(); i++) {
            products *= window.dim(i).realTaps(input.dim(dims.inputSpatial().get(i)));
        }
        return 2 * products;
    }

    /** Products and sums in double, rounded once at the end. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return new ConvolutionLoops(
                        this,
                        self.array(),
                        operands.get(0).literal(),
                        operands.get(1).literal())
                .run();
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction dz = cotangents.get(0);
        if (dz == null) {
            return Arrays.asList(null, null);
        }
        ConvolutionGradients gradients = new ConvolutionGradients(this, context.build(), self, dz);
        return List.of(gradients.ofInput(), gradients.ofKernel());
    }

    /** A cut group factor (the first) leaves fewer groups; a cut window factor another padding, and a smaller kernel if that is cut. */
    @Override
    public Instruction localize(Localizer local) {
        long parts = featureGroups * batchGroups > 1 ? local.parts(0) : 1;
        Instruction input = local.operands().get(0);
        List<Window.Dim> windows = new ArrayList<>();
        for (int i = 0; i < window.rank(); i++) {
            int dim = dims.inputSpatial().get(i);
            int factor = Halos.cut(local, local.rule().operands().get(0).get(dim));
            if (factor < 0) {
                windows.add(window.dim(i));
            } else {
                Halo halo = Halos.of(local, factor);
                input = Halos.extended(local, factor, halo, input, dim, null);
                windows.add(halo.window(window.dim(i), local.parts(factor)));
            }
        }
        Convolution part = new Convolution(
                new Window(windows),
                dims,
                featureGroups > 1 ? featureGroups / parts : 1,
                batchGroups > 1 ? batchGroups / parts : 1,
                dtype);
        return local.builder().add(part, input, local.operands().get(1));
    }
}

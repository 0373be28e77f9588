package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Natives;
import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Pieces;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.Team;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.T_TensorTensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** Kernels of libtorch for which HLO has a group of ops: activations and what is done row by row. */
public final class RowKernels {
    static final String GELU = "drover-gelu";
    static final String GELU_GRADIENT = "drover-gelu-gradient";

    /** Parts in which several threads make sums over rows; not by their number, so that it does not change the sums. */
    private static final int MOST_PARTS = 8;

    private RowKernels() {}

    /** What these ops have in common: they are made by rewrites and run by libtorch. */
    private interface Library extends Kernels.Fused {
        @Override
        default Shape inferShape(List<Shape> operands) {
            throw new IllegalStateException("The op (" + opcode() + ") must be made by a rewrite.");
        }

        @Override
        default Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
            throw new IllegalStateException("The op (" + opcode() + ") must be run by libtorch.");
        }
    }

    /** {@code softmax(x)} over the last dim. */
    public record Softmax() implements Library {
        @Override
        public String opcode() {
            return "drover-softmax";
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> rows(emitter, node, (binder, out, in) -> {
                ScalarTypeOptional same = binder.own(new ScalarTypeOptional());
                return () -> torch.softmax_out(out, in[0], -1, same);
            });
        }
    }

    /** {@code (g - sum(g * y)) * y}, of g and y. */
    public record SoftmaxGradient() implements Library {
        @Override
        public String opcode() {
            return "drover-softmax-gradient";
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> rows(emitter, node, (binder, out, in) -> {
                OperatorHandle handle =
                        binder.own(Dispatcher.singleton().findSchemaOrThrow("aten::_softmax_backward_data", "out"));
                List<Supplier<IValue>> arguments = List.of(
                        () -> new IValue(in[0]),
                        () -> new IValue(in[1]),
                        () -> new IValue(-1L),
                        () -> new IValue(torch.ScalarType.Float),
                        () -> new IValue(out));
                return () -> {
                    try (PointerScope scope = new PointerScope()) {
                        IValue[] values = arguments.stream().map(Supplier::get).toArray(IValue[]::new);
                        handle.callBoxed(new IValueVector(values));
                    }
                };
            });
        }
    }

    /** {@code gelu(x)} in its tanh form. */
    public record Gelu() implements Library {
        @Override
        public String opcode() {
            return GELU;
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> rows(emitter, node, (binder, out, in) -> {
                BytePointer form = binder.own(new BytePointer("tanh"));
                return () -> torch.gelu_out(out, in[0], form);
            });
        }
    }

    /** The gradient of {@link Gelu}, of g and x. */
    public record GeluGradient() implements Library {
        @Override
        public String opcode() {
            return GELU_GRADIENT;
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> rows(emitter, node, (binder, out, in) -> {
                BytePointer form = binder.own(new BytePointer("tanh"));
                return () -> torch.gelu_backward_out(out, in[0], in[1], form);
            });
        }
    }

    /** {@code x > 0 ? g : 0}, of g and x; where x is NaN, which {@code max(x, 0)} has made its result already, g. */
    public record ReluGradient() implements Library {
        @Override
        public String opcode() {
            return "drover-relu-gradient";
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> rows(emitter, node, (binder, out, in) -> {
                Scalar zero = binder.own(new Scalar(0f));
                return () -> torch.threshold_backward_out(out, in[0], in[1], zero);
            });
        }
    }

    /** Row-major operands to a row-major result. */
    private static void rows(Emitter emitter, Node node, Elementwise.ElementMaker maker) {
        List<View> inputs = new ArrayList<>();
        List<Step.Alias> aliases = new ArrayList<>();
        View out = emitter.result(node);
        for (int i = 0; i < node.inputs().size(); i++) {
            View input = emitter.contiguous(emitter.input(node, i));
            inputs.add(input);
            aliases.add(new Step.Alias(out, input));
        }
        emitter.step(
                inputs,
                List.of(out),
                aliases,
                binder -> Pieces.bind(
                        binder,
                        out.elements(),
                        lines(out).size(0),
                        (from, length) -> maker.bind(
                                binder,
                                binder.tensor(lines(out).narrow(0, from, length)),
                                inputs.stream()
                                        .map(v -> binder.tensor(lines(v).narrow(0, from, length)))
                                        .toArray(Tensor[]::new))));
    }

    /** Row-major {@code [.., columns]} as {@code [rows, columns]}. */
    private static View lines(View view) {
        long columns = view.rank() == 0 ? 1 : view.size(view.rank() - 1);
        View lines = view.reshape(columns == 0 ? 0 : view.elements() / columns, columns);
        if (lines == null) {
            throw new IllegalStateException("The view (" + view + ") must be row-major.");
        }
        return lines;
    }

    /**
     * Layer normalization over the last dim, of x, scale and bias: result, mean and reciprocal standard deviation.
     *
     * @param epsilon added to the variance
     */
    public record LayerNorm(double epsilon) implements Library {
        @Override
        public String opcode() {
            return "drover-layer-norm";
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> {
                View x = emitter.contiguous(emitter.input(node, 0));
                View scale = emitter.contiguous(emitter.input(node, 1));
                View bias = emitter.contiguous(emitter.input(node, 2));
                View y = emitter.result(node, 0);
                View mean = kept(emitter, node, 1);
                View rstd = kept(emitter, node, 2);
                long[] width = {scale.elements()};
                emitter.step(List.of(x, scale, bias), List.of(y, mean, rstd), binder -> {
                    TensorOptional weight = binder.own(new TensorOptional(binder.tensor(scale)));
                    TensorOptional shift = binder.own(new TensorOptional(binder.tensor(bias)));
                    return Pieces.bind(binder, x.elements(), lines(x).size(0), (from, length) -> {
                        Tensor in = binder.tensor(lines(x).narrow(0, from, length));
                        Tensor out = binder.tensor(lines(y).narrow(0, from, length));
                        Tensor outMean = binder.tensor(lines(mean).narrow(0, from, length));
                        Tensor outRstd = binder.tensor(lines(rstd).narrow(0, from, length));
                        return () -> {
                            try (PointerScope scope = new PointerScope()) {
                                torch.native_layer_norm_out(out, outMean, outRstd, in, width, weight, shift, epsilon);
                            }
                        };
                    });
                });
            };
        }
    }

    /** A result {@code [rows..]} as libtorch wants it, {@code [rows.., 1]}. */
    private static View kept(Emitter emitter, Node node, int leaf) {
        return column(emitter, emitter.result(node, leaf));
    }

    /** {@code [rows..]} as {@code [rows.., 1]}. */
    private static View column(Emitter emitter, View rows) {
        long[] dims = java.util.Arrays.copyOf(rows.sizes(), rows.rank() + 1);
        dims[rows.rank()] = 1;
        return emitter.reshape(rows, dims);
    }

    /** The gradients of {@link LayerNorm}'s x, scale and bias, of g, x, mean, reciprocal deviation and scale. */
    public record LayerNormGradient() implements Library {
        @Override
        public String opcode() {
            return "drover-layer-norm-gradient";
        }

        @Override
        public Emitter.Kernel kernel() {
            return (emitter, node) -> {
                List<View> inputs = new ArrayList<>();
                for (int i = 0; i < 5; i++) {
                    View input = emitter.contiguous(emitter.input(node, i));
                    inputs.add(i == 2 || i == 3 ? column(emitter, input) : input);
                }
                View dx = emitter.result(node, 0);
                List<View> sums = List.of(emitter.result(node, 1), emitter.result(node, 2));
                long[] width = {inputs.get(4).elements()};
                long rows = lines(dx).size(0);
                emitter.step(inputs, List.of(dx, sums.get(0), sums.get(1)), binder -> {
                    Team team = binder.team();
                    boolean whole = team.size() == 1 || dx.elements() < Pieces.SMALLEST_SHARED;
                    int parts = whole ? 1 : (int) Math.min(MOST_PARTS, rows);
                    Tensor scaleSums = partialSums(binder, parts, width[0]);
                    Tensor biasSums = partialSums(binder, parts, width[0]);
                    TensorOptional weight = binder.own(new TensorOptional(binder.tensor(inputs.get(4))));
                    org.bytedeco.javacpp.BoolPointer all = binder.own(new org.bytedeco.javacpp.BoolPointer(3));
                    all.put(0, true).put(1, true).put(2, true);
                    Runnable[] pieces = new Runnable[parts];
                    for (int i = 0; i < parts; i++) {
                        long from = rows * i / parts;
                        long length = rows * (i + 1) / parts - from;
                        Tensor[] in = inputs.subList(0, 4).stream()
                                .map(v -> binder.tensor(lines(v).narrow(0, from, length)))
                                .toArray(Tensor[]::new);
                        Tensor out = binder.tensor(lines(dx).narrow(0, from, length));
                        Tensor scalePart = binder.own(scaleSums.select(0, i));
                        Tensor biasPart = binder.own(biasSums.select(0, i));
                        pieces[i] = () -> {
                            try (PointerScope scope = new PointerScope()) {
                                T_TensorTensorTensor_T made = torch.native_layer_norm_backward(
                                        in[0], in[1], width, in[2], in[3], weight, weight, all);
                                out.copy_(made.get0());
                                scalePart.copy_(made.get1());
                                biasPart.copy_(made.get2());
                            }
                        };
                    }
                    Tensor scaleSum = binder.tensor(sums.get(0));
                    Tensor biasSum = binder.tensor(sums.get(1));
                    ScalarTypeOptional same = binder.own(new ScalarTypeOptional(torch.ScalarType.Float));
                    long[] dim = {0};
                    return () -> {
                        team.run(parts, (member, piece) -> pieces[piece].run());
                        torch.sum_out(scaleSum, scaleSums, dim, false, same);
                        torch.sum_out(biasSum, biasSums, dim, false, same);
                    };
                });
            };
        }
    }

    /** Memory for sums [parts, width]; small, and not in the pool as what libtorch would take itself is not. */
    private static Tensor partialSums(Binder binder, int parts, long width) {
        FloatPointer memory = binder.own(new FloatPointer(parts * width));
        return binder.own(Natives.fromBlob(memory, torch.ScalarType.Float, parts, width));
    }

    /** The shape of a value per row. */
    public static ArrayShape rows(ArrayShape shape) {
        return ArrayShape.of(DType.F32, java.util.Arrays.copyOf(shape.dims(), shape.rank() - 1));
    }
}

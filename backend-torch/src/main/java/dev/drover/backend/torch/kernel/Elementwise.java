package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Pieces;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Kernels that map elements to elements. Operands are taken as they lie (broadcasts as strides of 0, transposes as strides); the
 * result lies as its operands do where they agree, and may overwrite an operand that dies.
 */
final class Elementwise {
    private Elementwise() {}

    /** Writes {@code f(x)} to {@code out}. */
    @FunctionalInterface
    interface Unary {
        void apply(Tensor out, Tensor x);
    }

    /** Writes {@code f(x, y)} to {@code out}. */
    @FunctionalInterface
    interface Binary {
        void apply(Tensor out, Tensor x, Tensor y);
    }

    /** Writes {@code f(inputs)} to {@code out}. */
    @FunctionalInterface
    interface Many {
        void apply(Tensor out, Tensor[] inputs);
    }

    static Emitter.Kernel unary(Unary f) {
        return (emitter, node) -> emit(emitter, node, unaryMaker(f));
    }

    static Emitter.Kernel binary(Binary f) {
        return (emitter, node) -> emit(emitter, node, binaryMaker(f));
    }

    /** A kernel that computes with temporaries of libtorch's own; they are freed at once. */
    static Emitter.Kernel scoped(Many f) {
        return (emitter, node) -> emit(emitter, node, scopedMaker(f));
    }

    /** Makes the runnable of an elementwise step. */
    @FunctionalInterface
    interface ElementMaker {
        Runnable bind(Binder binder, Tensor out, Tensor[] inputs);
    }

    static ElementMaker unaryMaker(Unary f) {
        return (binder, out, in) -> {
            Tensor x = in[0];
            return () -> f.apply(out, x);
        };
    }

    static ElementMaker binaryMaker(Binary f) {
        return (binder, out, in) -> {
            Tensor x = in[0];
            Tensor y = in[1];
            return () -> f.apply(out, x, y);
        };
    }

    static ElementMaker scopedMaker(Many f) {
        return (binder, out, in) -> () -> {
            try (PointerScope scope = new PointerScope()) {
                f.apply(out, in);
            }
        };
    }

    /** Emits one elementwise step over all inputs of a node with one result. */
    static void emit(Emitter emitter, Node node, ElementMaker maker) {
        List<View> inputs = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            inputs.add(emitter.input(node, i));
        }
        emit(emitter, node, inputs, maker);
    }

    /** Emits one elementwise step; inputs of rank 0 are broadcast. */
    static void emit(Emitter emitter, Node node, List<View> given, ElementMaker maker) {
        long[] sizes = node.shape().dims();
        List<View> inputs = given.stream()
                .map(v -> v.rank() == 0 && sizes.length > 0 ? v.broadcast(sizes) : v)
                .toList();
        View out = emitter.resultLike(node, layout(inputs, sizes));
        List<Step.Alias> aliases = new ArrayList<>();
        for (View input : inputs) {
            if (!input.repeats()) {
                aliases.add(new Step.Alias(out, input));
            }
        }
        DType dtype = node.shape().dtype();
        boolean f8 = dtype == DType.F8E4M3FN
                || dtype == DType.F8E5M2
                || inputs.stream().anyMatch(v -> v.dtype() == DType.F8E4M3FN || v.dtype() == DType.F8E5M2);
        emitter.step(inputs, List.of(out), f8 ? List.of() : aliases, binder -> {
            int dim = Pieces.slowest(out);
            if (f8 || Carriers.wraps(dtype) || dim < 0) {
                Tensor[] in = inputs.stream().map(binder::tensor).toArray(Tensor[]::new);
                Tensor target = binder.tensor(out);
                if (f8) {
                    return () -> widened(maker, target, in);
                }
                Runnable body = maker.bind(binder, target, in);
                return Carriers.wraps(dtype) ? wrapped(binder, dtype, target, body) : body;
            }
            return Pieces.bind(
                    binder,
                    out.elements(),
                    out.size(dim),
                    (from, length) -> maker.bind(
                            binder,
                            binder.tensor(out.narrow(dim, from, length)),
                            inputs.stream()
                                    .map(v -> binder.tensor(v.narrow(dim, from, length)))
                                    .toArray(Tensor[]::new)));
        });
    }

    /** libtorch has no arithmetic on 8-bit floats: compute in f32 and round once. */
    private static void widened(ElementMaker maker, Tensor out, Tensor[] inputs) {
        try (PointerScope scope = new PointerScope();
                Binder binder = Binder.temporary()) {
            Tensor[] wide = new Tensor[inputs.length];
            for (int i = 0; i < wide.length; i++) {
                ScalarType type = inputs[i].scalar_type().intern();
                boolean narrow = type == ScalarType.Float8_e4m3fn || type == ScalarType.Float8_e5m2;
                wide[i] = narrow ? inputs[i].to(ScalarType.Float) : inputs[i];
            }
            ScalarType type = out.scalar_type().intern();
            if (type == ScalarType.Float8_e4m3fn || type == ScalarType.Float8_e5m2) {
                Tensor result = torch.empty_like(out.to(ScalarType.Float));
                maker.bind(binder, result, wide).run();
                out.copy_(result);
            } else {
                maker.bind(binder, out, wide).run();
            }
        }
    }

    /** Wraps a result that is carried in a wider type to its own width. */
    private static Runnable wrapped(Binder binder, DType dtype, Tensor out, Runnable body) {
        if (dtype == DType.S4) {
            Scalar shift = binder.scalar(4L);
            return () -> {
                body.run();
                torch.bitwise_left_shift_out(out, out, shift);
                torch.bitwise_right_shift_out(out, out, shift);
            };
        }
        Scalar mask = binder.scalar((1L << dtype.bits()) - 1);
        return () -> {
            body.run();
            torch.bitwise_and_out(out, out, mask);
        };
    }

    /** The layout that all operands of the result's size share, or else row-major. */
    static View layout(List<View> inputs, long[] sizes) {
        View like = null;
        for (View input : inputs) {
            if (input.repeats()) {
                continue;
            }
            if (like == null) {
                like = input;
            } else if (!java.util.Arrays.equals(like.packed(), input.packed())) {
                like = null;
                break;
            }
        }
        if (like == null || like.packed() == null) {
            return new View(inputs.get(0).buffer(), DType.F32, sizes, rowMajor(sizes), 0);
        }
        return like;
    }

    private static long[] rowMajor(long[] sizes) {
        return dev.drover.ir.type.ArrayShape.of(DType.F32, sizes).strides();
    }
}

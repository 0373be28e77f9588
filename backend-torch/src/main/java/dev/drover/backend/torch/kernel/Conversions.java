package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.type.DType;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** {@code convert} and {@code bitcast-convert}. */
final class Conversions {
    private Conversions() {}

    static void convert(Emitter emitter, Node node) {
        View x = emitter.input(node, 0);
        DType from = x.dtype();
        DType to = node.shape().dtype();
        if (from == to) {
            emitter.define(node.ref(), x);
            return;
        }
        boolean fromUnsigned = from == DType.U64 && (to.isFloat() || to.isComplex());
        boolean to64 = from.isFloat() && (to == DType.U64 || to == DType.S64);
        boolean roundsTwice = from == DType.F64 && to.bits() < 32 && to.isFloat();
        boolean nibbles = to == DType.S4 || to == DType.U4;
        if (fromUnsigned || from.isComplex() || to64 || nibbles || roundsTwice) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        boolean narrow = to == DType.F8E4M3FN || to == DType.F8E5M2 || from == DType.F8E4M3FN || from == DType.F8E5M2;
        if (narrow && (to.isFloat() && from.isFloat())) {
            View out = emitter.resultLike(node, x);
            emitter.copy(x, out);
            return;
        }
        if (from.isFloat() && to.isInteger()) {
            Elementwise.emit(emitter, node, (binder, out, in) -> {
                ScalarOptional low = binder.own(new ScalarOptional(binder.scalar((double) smallest(to))));
                ScalarOptional high = binder.own(new ScalarOptional(binder.scalar((double) largest(to))));
                Scalar zero = binder.scalar(0.0);
                return () -> saturate(out, in[0], low, high, zero);
            });
            return;
        }
        Elementwise.emit(emitter, node, Elementwise.unaryMaker((out, in) -> out.copy_(in)));
    }

    /** Out of range becomes the nearest integer, NaN 0. */
    private static void saturate(Tensor out, Tensor in, ScalarOptional low, ScalarOptional high, Scalar zero) {
        try (PointerScope scope = new PointerScope()) {
            Tensor wide = in.to(ScalarType.Double);
            Tensor number = wide.masked_fill(wide.ne(wide), zero);
            out.copy_(torch.clamp(number, low, high));
        }
    }

    private static long smallest(DType dtype) {
        return dtype.family() == DType.Family.SIGNED ? -1L << (dtype.bits() - 1) : 0;
    }

    private static long largest(DType dtype) {
        return dtype.family() == DType.Family.SIGNED ? (1L << (dtype.bits() - 1)) - 1 : (1L << dtype.bits()) - 1;
    }

    /** Types whose carrier holds just their bits. */
    private static boolean plain(DType dtype) {
        return Carriers.width(dtype) * 8 == dtype.bits();
    }

    static void bitcast(Emitter emitter, Node node) {
        View x = emitter.input(node, 0);
        DType to = node.shape().dtype();
        boolean sameWidth = x.dtype().bits() == to.bits();
        if (sameWidth && plain(x.dtype()) && plain(to)) {
            emitter.define(node.ref(), x.as(to));
            return;
        }
        if (sameWidth && to == DType.U32 && plain(x.dtype())) {
            View signed = x.as(DType.S32);
            View out = emitter.result(node);
            emitter.step(java.util.List.of(signed), java.util.List.of(out), binder -> {
                Tensor in = binder.tensor(signed);
                Tensor target = binder.tensor(out);
                Scalar mask = binder.scalar(0xffffffffL);
                return () -> {
                    target.copy_(in);
                    torch.bitwise_and_out(target, target, mask);
                };
            });
            return;
        }
        if (sameWidth && x.dtype() == DType.U32 && plain(to)) {
            View narrow = emitter.scratch(DType.S32, x.sizes());
            emitter.copy(x, narrow);
            emitter.define(node.ref(), narrow.as(to));
            return;
        }
        HostKernel.KERNEL.emit(emitter, node);
    }
}

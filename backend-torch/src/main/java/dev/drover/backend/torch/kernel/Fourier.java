package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.ops.Fft;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.StringViewOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** {@code fft} of all types, and the parts of complex numbers. */
final class Fourier {
    private Fourier() {}

    /** A transform of libtorch over dims of these lengths (of the real side). */
    @FunctionalInterface
    private interface Transform {
        Tensor apply(Tensor x, long[] lengths, long[] dims, StringViewOptional norm);
    }

    static void emit(Emitter emitter, Node node) {
        Fft fft = (Fft) node.op();
        View x = emitter.input(node, 0);
        View y = emitter.result(node);
        if (y.elements() == 0) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        Transform transform = switch (fft.fftType()) {
            case "FFT" -> torch::fft_fftn;
            case "IFFT" -> torch::fft_ifftn;
            case "RFFT" -> torch::fft_rfftn;
            default -> torch::fft_irfftn;
        };
        int count = fft.lengths().size();
        long[] lengths = new long[count];
        long[] dims = new long[count];
        for (int i = 0; i < count; i++) {
            lengths[i] = fft.lengths().get(i);
            dims[i] = (long) x.rank() - count + i;
        }
        emitter.step(List.of(x), List.of(y), binder -> {
            Tensor in = binder.tensor(x);
            Tensor out = binder.tensor(y);
            StringViewOptional norm = binder.own(new StringViewOptional());
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    out.copy_(transform.apply(in, lengths, dims, norm));
                }
            };
        });
    }

    /** The real part; a real number is its own. */
    static void real(Tensor out, Tensor[] in) {
        out.copy_(in[0].is_complex() ? torch.real(in[0]) : in[0]);
    }

    /** The imaginary part; of a real number 0. */
    static void imag(Tensor out, Tensor[] in) {
        if (in[0].is_complex()) {
            out.copy_(torch.imag(in[0]));
        } else {
            out.zero_();
        }
    }
}

package dev.drover.backend.torch.comm;

import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Buffer;
import org.bytedeco.pytorch.Tensor;

/** A buffer of libtorch's. */
public interface NativeBuffer extends Buffer {

    /** The elements as a dense tensor with one dim; owned by the buffer. To be called outside of pointer scopes, since it may be made now. */
    Tensor flat();

    /** A buffer over a dense tensor with one dim, of which the caller stays the owner. */
    static NativeBuffer of(DType dtype, Tensor flat) {
        return new Plain(dtype, flat);
    }

    /** See {@link #of}. */
    record Plain(DType dtype, Tensor flat) implements NativeBuffer {
        public Plain {
            if (flat.dim() != 1 || !flat.is_contiguous()) {
                throw new IllegalArgumentException("The tensor of a buffer must be dense and have one dim.");
            }
        }

        @Override
        public long elements() {
            return flat.numel();
        }
    }
}

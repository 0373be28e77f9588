package dev.drover.backend.torch;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Short forms of libtorch calls that take wrapped options. */
public final class Natives {
    private Natives() {}

    /** A tensor over memory that someone else owns, row-major. */
    public static Tensor fromBlob(Pointer pointer, ScalarType type, long... dims) {
        try (TensorOptions options = new TensorOptions(type)) {
            return torch.from_blob(pointer, dims, options);
        }
    }
}

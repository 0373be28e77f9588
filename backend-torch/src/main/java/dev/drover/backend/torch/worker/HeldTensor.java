package dev.drover.backend.torch.worker;

import dev.drover.backend.torch.TorchTensor;
import dev.drover.backend.torch.comm.NativeBuffer;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.worker.DeviceTensor;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** A tensor as the interpreter of tasks and the communicators see it. */
final class HeldTensor implements DeviceTensor, NativeBuffer {

    private final TorchTensor tensor;
    private @Nullable Tensor flat;

    HeldTensor(TorchTensor tensor) {
        this.tensor = tensor;
    }

    static HeldTensor of(DeviceTensor tensor) {
        return (HeldTensor) tensor;
    }

    TorchTensor tensor() {
        return tensor;
    }

    @Override
    public ArrayShape shape() {
        return tensor.shape();
    }

    @Override
    public DType dtype() {
        return tensor.shape().dtype();
    }

    @Override
    public long elements() {
        return tensor.shape().elements();
    }

    @Override
    public synchronized Tensor flat() {
        Tensor made = flat;
        if (made == null) {
            made = tensor.nativeTensor().view(-1);
            flat = made;
        }
        return made;
    }

    @Override
    public synchronized void close() {
        if (flat != null) {
            flat.close();
            flat = null;
        }
        tensor.close();
    }
}

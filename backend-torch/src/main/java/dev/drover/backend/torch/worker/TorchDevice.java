package dev.drover.backend.torch.worker;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.TorchMemory;
import dev.drover.backend.torch.TorchOptions;
import dev.drover.backend.torch.TorchProgram;
import dev.drover.backend.torch.TorchTensor;
import dev.drover.backend.torch.comm.Combine;
import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.Program;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.wire.HostTensor;
import dev.drover.runtime.worker.Device;
import dev.drover.runtime.worker.DeviceProgram;
import dev.drover.runtime.worker.DeviceTensor;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** This machine's processor as a device, through libtorch. */
final class TorchDevice implements Device {

    private final TorchMemory memory = new TorchMemory();

    @Override
    public DeviceTensor allocate(ArrayShape shape) {
        return new HeldTensor(TorchTensor.empty(memory, shape));
    }

    @Override
    public DeviceTensor upload(HostTensor value) {
        if (!isPlain(value.shape().dtype())) {
            return new HeldTensor(TorchTensor.of(memory, Bits.read(value.shape(), value.data())));
        }
        TorchTensor tensor = TorchTensor.empty(memory, value.shape());
        if (value.data().hasRemaining()) {
            tensor.buffer().put(value.data());
        }
        return new HeldTensor(tensor);
    }

    @Override
    public HostTensor download(DeviceTensor tensor) {
        TorchTensor source = HeldTensor.of(tensor).tensor();
        HostTensor value = HostTensor.allocate(source.shape());
        if (!isPlain(source.shape().dtype())) {
            Literal literal = source.toLiteral();
            Bits.write(literal, value.data());
        } else if (value.data().hasRemaining()) {
            value.data().put(source.buffer());
        }
        return value;
    }

    /** Whether elements lie in memory as they do on the wire. */
    private static boolean isPlain(DType dtype) {
        return dtype.bits() == 8 * Carriers.width(dtype) && ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    }

    @Override
    public DeviceProgram compile(
            Program program,
            Map<Integer, Integer> donations,
            List<Integer> meshRanks,
            int device,
            @Nullable Communicators communicators) {
        DeviceContext context = new DeviceContext(device, meshRanks, communicators);
        TorchOptions options = new TorchOptions(memory, donations, context, true);
        return new Compiled(TorchProgram.compile(program.computation(), options));
    }

    private record Compiled(TorchProgram program) implements DeviceProgram {
        @Override
        public List<DeviceTensor> run(List<DeviceTensor> inputs) {
            List<TorchTensor> tensors = new ArrayList<>(inputs.size());
            for (DeviceTensor input : inputs) {
                tensors.add(HeldTensor.of(input).tensor());
            }
            List<DeviceTensor> outputs = new ArrayList<>();
            for (TorchTensor output : program.run(tensors)) {
                outputs.add(new HeldTensor(output));
            }
            return outputs;
        }

        @Override
        public void close() {
            program.close();
        }
    }

    @Override
    public void combine(DeviceTensor into, DeviceTensor from, Reduction reduction) {
        Tensor sum = HeldTensor.of(into).flat();
        Combine.into(sum, sum, HeldTensor.of(from).flat(), into.dtype(), reduction);
    }

    /** {@code whole} as [before, blocks, parts, stride, after], {@code part} as the same without parts. */
    @Override
    public void insert(DeviceTensor part, DeviceTensor whole, int dim, long stride, int parts, int index) {
        ArrayShape shape = whole.shape();
        long before = 1;
        long after = 1;
        for (int d = 0; d < shape.rank(); d++) {
            before *= d < dim ? shape.dim(d) : 1;
            after *= d > dim ? shape.dim(d) : 1;
        }
        long blocks = shape.dim(dim) / (stride * parts);
        Tensor to = HeldTensor.of(whole).flat();
        Tensor from = HeldTensor.of(part).flat();
        try (PointerScope scope = new PointerScope()) {
            Tensor target = to.view(before, blocks, parts, stride, after);
            Tensor source = from.view(before, blocks, stride, after);
            Tensor unused = target.select(2, index).copy_(source);
        }
    }

    @Override
    public long peakBytes() {
        return memory.peakBytes();
    }

    @Override
    public void close() {
        memory.close();
    }
}

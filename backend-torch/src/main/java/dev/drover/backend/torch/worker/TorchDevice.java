package dev.drover.backend.torch.worker;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.TorchArena;
import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.backend.torch.TorchLayout;
import dev.drover.backend.torch.TorchMemory;
import dev.drover.backend.torch.TorchProgram;
import dev.drover.backend.torch.TorchTensor;
import dev.drover.backend.torch.comm.Combine;
import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.ir.eval.Bits;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.memory.ProgramFootprint;
import dev.drover.plan.task.Program;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.worker.Device;
import dev.drover.runtime.worker.DeviceProgram;
import dev.drover.runtime.worker.DeviceTensor;
import java.nio.ByteBuffer;
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
    public long sizeBytes(ArrayShape shape) {
        return TorchTensor.sizeBytes(shape);
    }

    private record LaidOut(TorchArena arena) implements Arena {
        @Override
        public DeviceTensor tensor(long offsetBytes, ArrayShape shape) {
            return new HeldTensor(arena.tensor(offsetBytes, shape));
        }
    }

    @Override
    public Arena allocate(long sizeBytes) {
        return new LaidOut(memory.arena(sizeBytes));
    }

    @Override
    public void upload(ByteBuffer from, DeviceTensor into, long offset) {
        TorchTensor tensor = HeldTensor.of(into).tensor();
        DType dtype = tensor.shape().dtype();
        if (!isPlain(dtype)) {
            ArrayShape part = ArrayShape.of(dtype, from.remaining() / dtype.sizeBytes(1));
            tensor.set(offset / dtype.sizeBytes(1), Bits.read(part, from));
        } else if (from.hasRemaining()) {
            tensor.buffer(offset, from.remaining()).put(from);
        }
    }

    @Override
    public void copy(DeviceTensor from, DeviceTensor into) {
        HeldTensor.of(into).tensor().copyFrom(HeldTensor.of(from).tensor());
    }

    @Override
    public ByteBuffer download(DeviceTensor tensor, long offset, int sizeBytes) {
        TorchTensor source = HeldTensor.of(tensor).tensor();
        DType dtype = source.shape().dtype();
        ByteBuffer value = ByteBuffer.allocate(sizeBytes).order(ByteOrder.LITTLE_ENDIAN);
        if (!isPlain(dtype)) {
            int elements = Math.toIntExact(sizeBytes / dtype.sizeBytes(1));
            Bits.write(source.toLiteral(offset / dtype.sizeBytes(1), elements), value);
        } else if (value.hasRemaining()) {
            value.put(source.buffer(offset, sizeBytes));
        }
        return value.flip();
    }

    /** Whether elements lie in memory as they do on the wire. */
    private static boolean isPlain(DType dtype) {
        return dtype.bits() == 8 * Carriers.width(dtype) && ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    }

    @Override
    public DeviceProgram compile(
            Program program, Map<Integer, Integer> donations, List<Integer> meshRanks, int device) {
        DeviceContext context = new DeviceContext(device, meshRanks);
        return new Compiled(TorchLayout.of(program.computation(), donations, context, true));
    }

    private static final class Compiled implements DeviceProgram {
        private final TorchLayout layout;
        private @Nullable TorchProgram program;

        Compiled(TorchLayout layout) {
            this.layout = layout;
        }

        @Override
        public ProgramFootprint footprint() {
            return TorchDeviceMemory.of(layout);
        }

        @Override
        public void bind(
                Arena arena, long poolOffsetBytes, long constantsOffsetBytes, @Nullable Communicators communicators) {
            program = TorchProgram.bind(
                    layout, ((LaidOut) arena).arena(), poolOffsetBytes, constantsOffsetBytes, communicators);
        }

        @Override
        public Runnable on(List<DeviceTensor> inputs, List<DeviceTensor> outputs) {
            TorchProgram bound = program;
            if (bound == null) {
                throw new IllegalStateException("The program must be bound before it runs.");
            }
            return bound.on(tensors(inputs), tensors(outputs));
        }

        private static List<TorchTensor> tensors(List<DeviceTensor> held) {
            List<TorchTensor> tensors = new ArrayList<>(held.size());
            for (DeviceTensor tensor : held) {
                tensors.add(HeldTensor.of(tensor).tensor());
            }
            return tensors;
        }

        @Override
        public void close() {
            if (program != null) {
                program.close();
            }
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

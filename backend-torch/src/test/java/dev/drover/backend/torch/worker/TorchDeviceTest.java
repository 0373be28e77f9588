package dev.drover.backend.torch.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.runtime.worker.Device;
import dev.drover.runtime.worker.DeviceTensor;
import java.nio.ByteBuffer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Elements go to a device and come back in pieces, in every type, those too that libtorch carries in wider ones. */
class TorchDeviceTest {

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"S4", "U4"},
            mode = EnumSource.Mode.EXCLUDE)
    void piecesMakeTheWhole(DType dtype) {
        ArrayShape shape = ArrayShape.of(dtype, 3, 7);
        Literal literal = Literal.zeros(shape);
        for (int i = 0; i < literal.doubles().length; i++) {
            literal.doubles()[i] = i % 5 - 1.5;
        }
        for (int i = 0; i < literal.longs().length; i++) {
            literal.longs()[i] = dtype == DType.PRED ? i % 2 : i % 6;
        }
        int each = (int) dtype.sizeBytes(1);
        int all = (int) shape.sizeBytes();
        try (TorchBackend backend = new TorchBackend(1);
                Device device = new TorchDevice()) {
            assertThat(backend).isNotNull();
            DeviceTensor tensor = device.allocate(device.sizeBytes(shape) + 64).tensor(64, shape);
            for (int offset = 0; offset < all; offset += 4 * each) {
                int size = Math.min(4 * each, all - offset);
                device.upload(TensorBytes.of(literal).bytes(offset, size), tensor, offset);
            }
            Literal back = Literal.zeros(shape);
            for (int offset = 0; offset < all; offset += 5 * each) {
                int size = Math.min(5 * each, all - offset);
                ByteBuffer bytes = device.download(tensor, offset, size);
                Bits.read(bytes, back, offset / each, size / each);
            }
            assertThat(back).isEqualTo(literal);
        }
    }
}

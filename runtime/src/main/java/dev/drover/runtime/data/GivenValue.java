package dev.drover.runtime.data;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.safetensors.Safetensors;
import java.util.function.Supplier;

/**
 * A value that somebody gave. It may be larger than memory: workers are sent its bytes, and only who computes with it in this process
 * takes all of it.
 *
 * @param whole makes all of it
 */
public record GivenValue(ArrayShape shape, TensorBytes bytes, Supplier<Literal> whole) {

    public static GivenValue of(Literal value) {
        return new GivenValue(value.shape(), TensorBytes.of(value), () -> value);
    }

    /** A tensor of a file, which is read when it is asked for. */
    public static GivenValue of(Safetensors file, String name) {
        return new GivenValue(
                file.tensor(name).shape(),
                (offset, sizeBytes) -> file.bytes(name, offset, sizeBytes),
                () -> file.literal(name));
    }

    public Literal literal() {
        return whole.get();
    }
}

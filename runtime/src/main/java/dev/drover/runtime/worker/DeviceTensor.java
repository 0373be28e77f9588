package dev.drover.runtime.worker;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Buffer;

/** A dense row-major array that lives on a device. Owned by one holder, who closes it; closing twice is harmless, from any thread. */
public interface DeviceTensor extends Buffer, AutoCloseable {

    ArrayShape shape();

    @Override
    default DType dtype() {
        return shape().dtype();
    }

    @Override
    default long elements() {
        return shape().elements();
    }

    @Override
    void close();
}

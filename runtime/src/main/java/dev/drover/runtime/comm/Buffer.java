package dev.drover.runtime.comm;

import dev.drover.ir.type.DType;

/** Memory that a backend owns: elements of one type, without a shape. */
public interface Buffer {

    DType dtype();

    long elements();
}

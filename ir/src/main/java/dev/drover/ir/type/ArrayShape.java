package dev.drover.ir.type;

import java.util.Arrays;
import java.util.List;

/** An array's element type and dims, printed {@code f32[12,8]}. Row-major; immutable. */
public final class ArrayShape implements Shape {
    private final DType dtype;
    private final long[] dims;

    private ArrayShape(DType dtype, long[] dims) {
        this.dtype = dtype;
        this.dims = dims;
    }

    /** A shape with these dims; each must be at least 0. */
    public static ArrayShape of(DType dtype, long... dims) {
        for (long dim : dims) {
            if (dim < 0) {
                throw new IllegalArgumentException(
                        "The dims (" + Arrays.toString(dims) + ") of a shape must be at least 0.");
            }
        }
        if (!fits(dims)) {
            throw new ArithmeticException(
                    "A shape (" + dtype.hloName() + Arrays.toString(dims) + ") must have fewer than 2^60 elements.");
        }
        return new ArrayShape(dtype, dims.clone());
    }

    /** Whether elements and bytes of such a shape can be counted: fewer than 2^60 elements, dims of 0 taken as 1. */
    public static boolean fits(long... dims) {
        long most = 1L << 60;
        for (long dim : dims) {
            if (dim > 0) {
                most /= dim;
            }
        }
        return most > 0;
    }

    public static ArrayShape scalar(DType dtype) {
        return new ArrayShape(dtype, new long[0]);
    }

    public DType dtype() {
        return dtype;
    }

    /** A copy of the dims. */
    public long[] dims() {
        return dims.clone();
    }

    public long dim(int index) {
        return dims[index];
    }

    public int rank() {
        return dims.length;
    }

    /** Number of elements; 1 for a scalar. */
    public long elements() {
        long product = 1;
        for (long dim : dims) {
            product = Math.multiplyExact(product, dim);
        }
        return product;
    }

    @Override
    public List<ArrayShape> leaves() {
        return List.of(this);
    }

    @Override
    public long sizeBytes() {
        return dtype.sizeBytes(elements());
    }

    public ArrayShape withDim(int index, long size) {
        long[] copy = dims.clone();
        copy[index] = size;
        return new ArrayShape(dtype, copy);
    }

    public ArrayShape withDims(long... newDims) {
        return of(dtype, newDims);
    }

    public ArrayShape withDType(DType type) {
        return new ArrayShape(type, dims);
    }

    /** Row-major strides in elements. */
    public long[] strides() {
        long[] strides = new long[dims.length];
        long stride = 1;
        for (int i = dims.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride *= dims[i];
        }
        return strides;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ArrayShape that && dtype == that.dtype && Arrays.equals(dims, that.dims);
    }

    @Override
    public int hashCode() {
        return dtype.ordinal() * 31 + Arrays.hashCode(dims);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(dtype.hloName()).append('[');
        for (int i = 0; i < dims.length; i++) {
            if (i > 0) {
                text.append(',');
            }
            text.append(dims[i]);
        }
        return text.append(']').toString();
    }
}

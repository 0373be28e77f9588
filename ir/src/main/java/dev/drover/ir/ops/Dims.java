package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import java.util.Arrays;
import java.util.List;

/** Dims as lists, which records need, and as arrays, which shapes take. */
final class Dims {
    private Dims() {}

    static List<Long> list(ArrayShape shape) {
        return list(shape.dims());
    }

    static List<Long> list(long... dims) {
        return Arrays.stream(dims).boxed().toList();
    }

    static long[] array(List<Long> dims) {
        return dims.stream().mapToLong(Long::longValue).toArray();
    }
}

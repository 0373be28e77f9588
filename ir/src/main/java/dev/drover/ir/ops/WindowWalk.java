package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;

/** Steps through all pairs of an output position and a window element, the window element running fastest. */
final class WindowWalk {
    private final Window window;
    private final long[] inDims;
    private final long[] inStrides;
    private final Walk output;
    private final Walk tap;
    private final boolean any;

    WindowWalk(Window window, ArrayShape in, ArrayShape out) {
        this.window = window;
        this.inDims = in.dims();
        this.inStrides = in.strides();
        this.output = new Walk(out.dims(), out.strides());
        long[] sizes = window.dims().stream().mapToLong(Window.Dim::size).toArray();
        this.tap = new Walk(sizes, new long[sizes.length]);
        this.any = output.any();
    }

    boolean any() {
        return any;
    }

    /** Moves on; false at the end. */
    boolean next() {
        return tap.next() || output.next();
    }

    /** Whether the window's first element is next: a new output position begins. */
    boolean atFirstTap() {
        for (int d = 0; d < inDims.length; d++) {
            if (tap.index(d) != 0) {
                return false;
            }
        }
        return true;
    }

    /** Offset of the output position. */
    int output() {
        return output.offset(0);
    }

    /** Offset of the input element under the window element, or -1 if that is padding or a hole. */
    int input() {
        long offset = 0;
        for (int d = 0; d < inDims.length; d++) {
            long element = window.dim(d).input(output.index(d), tap.index(d), inDims[d]);
            if (element < 0) {
                return -1;
            }
            offset += element * inStrides[d];
        }
        return (int) offset;
    }
}

package dev.drover.ir.ops;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A window that moves over dims, as in HLO's {@code window={size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=1x1 rhs_dilate=1x1
 * rhs_reversal=0x0}}: for convolutions over the spatial dims in the order of {@code dim_labels}, for reduce-window and
 * select-and-scatter over all dims.
 */
public record Window(List<Dim> dims) {
    public static final Window NONE = new Window(List.of());

    /**
     * One dim of a window.
     *
     * @param size elements of the window (of the kernel)
     * @param stride steps between outputs, in dilated and padded input positions
     * @param padLow padding before the first element; may be negative
     * @param padHigh padding after the last element; may be negative
     * @param baseDilation steps between input elements ({@code lhs_dilate})
     * @param windowDilation steps between window elements ({@code rhs_dilate})
     * @param reversed whether the kernel is read backwards ({@code rhs_reversal})
     */
    public record Dim(
            long size,
            long stride,
            long padLow,
            long padHigh,
            long baseDilation,
            long windowDilation,
            boolean reversed) {

        public Dim {
            if (size < 1 || stride < 1 || baseDilation < 1 || windowDilation < 1) {
                throw new IllegalArgumentException("The size, stride and dilations (" + size + ", " + stride + ", "
                        + baseDilation + ", " + windowDilation + ") of a window must be at least 1.");
            }
        }

        public Dim(long size, long stride, long padLow, long padHigh) {
            this(size, stride, padLow, padHigh, 1, 1, false);
        }

        /** A window of one element that moves by one. */
        public static Dim single() {
            return new Dim(1, 1, 0, 0);
        }

        /** Dilated positions from its first element to its last. */
        public long extent() {
            return (size - 1) * windowDilation + 1;
        }

        /** Whether each output position sees exactly the input element of the same position. */
        public boolean isTrivial() {
            return size == 1 && stride == 1 && padLow == 0 && padHigh == 0 && baseDilation == 1;
        }

        /** Output positions over an input of this many elements. */
        public long outputs(long inputs) {
            long padded = (inputs == 0 ? 0 : (inputs - 1) * baseDilation + 1) + padLow + padHigh;
            long extent = extent();
            return padded < extent ? 0 : (padded - extent) / stride + 1;
        }

        /**
         * The input element under window element {@code tap} at output {@code output}, or -1 if that is padding or a hole of
         * the base dilation.
         */
        public long input(long output, long tap, long inputs) {
            long position = output * stride - padLow + tap * windowDilation;
            if (position < 0 || position % baseDilation != 0) {
                return -1;
            }
            long element = position / baseDilation;
            return element < inputs ? element : -1;
        }

        /**
         * The window over the outputs by which an input element meets the outputs that read it, its elements in reverse: stride and base
         * dilation change places.
         */
        Dim transposed(long inputs, long outputs) {
            long extent = extent();
            long dilatedInputs = inputs == 0 ? 0 : (inputs - 1) * baseDilation + 1;
            long dilatedOutputs = outputs == 0 ? 0 : (outputs - 1) * stride + 1;
            long low = extent - padLow - 1;
            long high = dilatedInputs + extent - 1 - dilatedOutputs - low;
            return new Dim(
                    size, /* stride= */ baseDilation, low, high, /* baseDilation= */ stride, windowDilation, false);
        }

        /**
         * The window by which a kernel element meets the pairs of input and output that it joins: the outputs are the window, stride and
         * window dilation change places.
         */
        Dim transposedForKernel(long inputs, long outputs) {
            long extent = extent();
            long dilatedInputs = inputs == 0 ? 0 : (inputs - 1) * baseDilation + 1;
            long dilatedOutputs = outputs == 0 ? 0 : (outputs - 1) * stride + 1;
            long high = dilatedOutputs + extent - 1 - dilatedInputs - padLow;
            return new Dim(
                    outputs,
                    /* stride= */ windowDilation,
                    padLow,
                    high,
                    baseDilation,
                    /* windowDilation= */ stride,
                    false);
        }

        /** How many (output, tap) pairs see a real element: the work along this dim. */
        public long realTaps(long inputs) {
            long outputs = outputs(inputs);
            long sum = 0;
            for (long tap = 0; tap < size; tap++) {
                if (baseDilation == 1) {
                    // first and last output at which this tap is inside
                    long offset = tap * windowDilation - padLow;
                    long first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
                    long last = inputs - 1 - offset < 0 ? -1 : (inputs - 1 - offset) / stride;
                    sum += Math.max(0, Math.min(last, outputs - 1) - first + 1);
                } else {
                    for (long output = 0; output < outputs; output++) {
                        sum += input(output, tap, inputs) >= 0 ? 1 : 0;
                    }
                }
            }
            return sum;
        }
    }

    public Window {
        dims = List.copyOf(dims);
    }

    public Dim dim(int index) {
        return dims.get(index);
    }

    public int rank() {
        return dims.size();
    }

    /** Elements of the window. */
    public long elements() {
        long product = 1;
        for (Dim dim : dims) {
            product *= dim.size();
        }
        return product;
    }

    /** Parses the text of a {@code window} attribute, braces included. */
    public static Window parse(String text) {
        String inner = text.trim();
        if (!inner.startsWith("{") || !inner.endsWith("}")) {
            throw bad(text);
        }
        inner = inner.substring(1, inner.length() - 1).trim();
        if (inner.isEmpty()) {
            return NONE;
        }
        String[] sizes = {};
        String[] strides = {};
        String[] pads = {};
        String[] baseDilations = {};
        String[] windowDilations = {};
        String[] reversals = {};
        for (String field : inner.split("\\s+", -1)) {
            int equals = field.indexOf('=');
            String[] parts = field.substring(equals + 1).split("x", -1);
            switch (equals < 0 ? "" : field.substring(0, equals)) {
                case "size" -> sizes = parts;
                case "stride" -> strides = parts;
                case "pad" -> pads = parts;
                case "lhs_dilate" -> baseDilations = parts;
                case "rhs_dilate" -> windowDilations = parts;
                case "rhs_reversal" -> reversals = parts;
                default -> throw bad(text);
            }
        }
        try {
            List<Dim> dims = new ArrayList<>();
            for (int i = 0; i < sizes.length; i++) {
                String[] pad = (pads.length == 0 ? "0_0" : pads[i]).split("_", -1);
                dims.add(new Dim(
                        Long.parseLong(sizes[i]),
                        strides.length == 0 ? 1 : Long.parseLong(strides[i]),
                        Long.parseLong(pad[0]),
                        Long.parseLong(pad[1]),
                        baseDilations.length == 0 ? 1 : Long.parseLong(baseDilations[i]),
                        windowDilations.length == 0 ? 1 : Long.parseLong(windowDilations[i]),
                        reversals.length != 0 && reversals[i].equals("1")));
            }
            return new Window(dims);
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            throw bad(text);
        }
    }

    private static AttributeException bad(String text) {
        return new AttributeException(
                "window",
                "The window (" + text
                        + ") must be {size=.. stride=.. pad=.. lhs_dilate=.. rhs_dilate=.. rhs_reversal=..}"
                        + " with one entry for each dim.");
    }

    /** HLO's text, with braces; what is at its default for all dims is left out. */
    @Override
    public String toString() {
        if (dims.isEmpty()) {
            return "{}";
        }
        StringBuilder text = new StringBuilder("{size=").append(joined(d -> "" + d.size()));
        if (dims.stream().anyMatch(d -> d.stride() != 1)) {
            text.append(" stride=").append(joined(d -> "" + d.stride()));
        }
        if (dims.stream().anyMatch(d -> d.padLow() != 0 || d.padHigh() != 0)) {
            text.append(" pad=").append(joined(d -> d.padLow() + "_" + d.padHigh()));
        }
        if (dims.stream().anyMatch(d -> d.baseDilation() != 1)) {
            text.append(" lhs_dilate=").append(joined(d -> "" + d.baseDilation()));
        }
        if (dims.stream().anyMatch(d -> d.windowDilation() != 1)) {
            text.append(" rhs_dilate=").append(joined(d -> "" + d.windowDilation()));
        }
        if (dims.stream().anyMatch(Dim::reversed)) {
            text.append(" rhs_reversal=").append(joined(d -> d.reversed() ? "1" : "0"));
        }
        return text.append('}').toString();
    }

    private String joined(Function<Dim, String> field) {
        return String.join("x", dims.stream().map(field).toList());
    }
}

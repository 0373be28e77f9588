package dev.drover.backend.torch;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.ShortPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Copies literals to and from carrier memory. Rounding never happens: literals hold exactly representable values. */
public final class HostCopy {
    private static final int CHUNK = 1 << 15;

    private HostCopy() {}

    public static void write(Literal from, Pointer to) {
        DType dtype = from.dtype();
        try (PointerScope scope = new PointerScope()) {
            switch (dtype) {
                case F64 -> new DoublePointer(to).put(from.doubles());
                case F32, C64 -> writeFloats(from.doubles(), new FloatPointer(to));
                case BF16 -> {
                    // In Java: libtorch turns every NaN into one with a sign.
                    short[] narrow = new short[from.size()];
                    for (int i = 0; i < narrow.length; i++) {
                        narrow[i] = (short) (Float.floatToIntBits((float) from.doubles()[i]) >>> 16);
                    }
                    new ShortPointer(to).put(narrow, 0, narrow.length);
                }
                case F16, F8E4M3FN, F8E5M2 -> {
                    FloatPointer staging = new FloatPointer(Math.max(1, from.size()));
                    writeFloats(from.doubles(), staging);
                    Tensor source = Natives.fromBlob(staging, ScalarType.Float, from.size());
                    Natives.fromBlob(to, Carriers.scalarType(dtype), from.size())
                            .copy_(source);
                }
                default -> writeLongs(from.longs(), dtype, to);
            }
        }
    }

    public static Literal read(ArrayShape shape, Pointer from) {
        DType dtype = shape.dtype();
        int size = Math.toIntExact(shape.elements());
        try (PointerScope scope = new PointerScope()) {
            Literal result = switch (dtype) {
                case F64 -> {
                    double[] values = new double[size];
                    new DoublePointer(from).get(values);
                    yield Literal.ofDoubles(shape, values);
                }
                case F32 -> Literal.ofDoubles(shape, readFloats(new FloatPointer(from), size));
                case C64 -> Literal.ofDoubles(shape, readFloats(new FloatPointer(from), 2 * size));
                case F16, BF16, F8E4M3FN, F8E5M2 -> {
                    FloatPointer staging = new FloatPointer(Math.max(1, size));
                    Tensor source = Natives.fromBlob(from, Carriers.scalarType(dtype), size);
                    Natives.fromBlob(staging, ScalarType.Float, size).copy_(source);
                    yield Literal.ofDoubles(shape, readFloats(staging, size));
                }
                default -> Literal.ofLongs(shape, readLongs(dtype, from, size));
            };
            return result;
        }
    }

    private static void writeFloats(double[] values, FloatPointer to) {
        float[] chunk = new float[Math.min(CHUNK, values.length)];
        for (int start = 0; start < values.length; start += CHUNK) {
            int n = Math.min(CHUNK, values.length - start);
            for (int i = 0; i < n; i++) {
                chunk[i] = (float) values[start + i];
            }
            to.position(start).put(chunk, 0, n);
        }
        to.position(0);
    }

    private static double[] readFloats(FloatPointer from, int size) {
        double[] values = new double[size];
        float[] chunk = new float[Math.min(CHUNK, size)];
        for (int start = 0; start < size; start += CHUNK) {
            int n = Math.min(CHUNK, size - start);
            from.position(start).get(chunk, 0, n);
            for (int i = 0; i < n; i++) {
                values[start + i] = chunk[i];
            }
        }
        from.position(0);
        return values;
    }

    private static void writeLongs(long[] values, DType dtype, Pointer to) {
        switch (Carriers.width(dtype)) {
            case 1 -> {
                byte[] narrow = new byte[values.length];
                for (int i = 0; i < values.length; i++) {
                    narrow[i] = (byte) values[i];
                }
                new BytePointer(to).put(narrow, 0, narrow.length);
            }
            case 2 -> {
                short[] narrow = new short[values.length];
                for (int i = 0; i < values.length; i++) {
                    narrow[i] = (short) values[i];
                }
                new ShortPointer(to).put(narrow, 0, narrow.length);
            }
            case 4 -> {
                int[] narrow = new int[values.length];
                for (int i = 0; i < values.length; i++) {
                    narrow[i] = (int) values[i];
                }
                new IntPointer(to).put(narrow, 0, narrow.length);
            }
            default -> new LongPointer(to).put(values, 0, values.length);
        }
    }

    private static long[] readLongs(DType dtype, Pointer from, int size) {
        long[] values = new long[size];
        switch (Carriers.width(dtype)) {
            case 1 -> {
                byte[] narrow = new byte[size];
                new BytePointer(from).get(narrow, 0, size);
                boolean unsigned = dtype.family() != DType.Family.SIGNED;
                for (int i = 0; i < size; i++) {
                    values[i] = unsigned ? narrow[i] & 0xff : narrow[i];
                }
            }
            case 2 -> {
                short[] narrow = new short[size];
                new ShortPointer(from).get(narrow, 0, size);
                for (int i = 0; i < size; i++) {
                    values[i] = narrow[i];
                }
            }
            case 4 -> {
                int[] narrow = new int[size];
                new IntPointer(from).get(narrow, 0, size);
                for (int i = 0; i < size; i++) {
                    values[i] = narrow[i];
                }
            }
            default -> new LongPointer(from).get(values, 0, size);
        }
        return values;
    }
}

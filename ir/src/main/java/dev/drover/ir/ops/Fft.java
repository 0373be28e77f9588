package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A discrete Fourier transform over the last dims, as many as {@code lengths}; the inverse ones divide by the product of the lengths.
 *
 * <pre>
 *   FFT, IFFT   c64 [.., n] -> c64 [.., n]
 *   RFFT        f32 [.., n] -> c64 [.., n/2+1]     the rest follows: element n-k is the conjugate of element k
 *   IRFFT       c64 [.., n/2+1] -> f32 [.., n]     takes what RFFT makes; imaginary parts that cannot be (of element 0) are not read
 * </pre>
 *
 * @param fftType {@code FFT}, {@code IFFT}, {@code RFFT} or {@code IRFFT}
 * @param lengths of the transformed dims, in real numbers: of the result for {@code IRFFT}, else of the operand
 */
public record Fft(String fftType, List<Long> lengths) implements Op {
    static final OpKind KIND =
            new OpKind("fft", source -> new Fft(source.need("fft_type"), source.longs("fft_length")));

    public Fft {
        lengths = List.copyOf(lengths);
        if (!List.of("FFT", "IFFT", "RFFT", "IRFFT").contains(fftType)
                || lengths.isEmpty()
                || lengths.stream().anyMatch(length -> length < 1)) {
            throw new AttributeException(
                    "fft_type",
                    "The fft_type (" + fftType
                            + ") must be FFT, IFFT, RFFT or IRFFT, with at least one fft_length, all (" + lengths
                            + ") positive.");
        }
    }

    @Override
    public String opcode() {
        return "fft";
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("fft_type", fftType);
        writer.numbers("fft_length", lengths);
    }

    /** Whether one side is of real numbers. */
    private boolean isReal() {
        return fftType.equals("RFFT") || fftType.equals("IRFFT");
    }

    private boolean isInverse() {
        return fftType.equals("IFFT") || fftType.equals("IRFFT");
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        ArrayShape array = Check.array(this, operands, 0);
        Check.that(
                lengths.size() <= array.rank(),
                "The fft_length (%s) of fft must be no longer than the rank of its operand (%s).",
                lengths,
                array);
        DType wanted = fftType.equals("RFFT") ? DType.F32 : DType.C64;
        Check.that(
                array.dtype() == wanted,
                "The operand (%s) of fft of type %s must be of %s.",
                array,
                fftType,
                wanted.hloName());
        int last = array.rank() - 1;
        long length = lengths.get(lengths.size() - 1);
        for (int i = 0; i < lengths.size(); i++) {
            int dim = array.rank() - lengths.size() + i;
            long size = dim == last && fftType.equals("IRFFT") ? length / 2 + 1 : lengths.get(i);
            Check.that(
                    array.dim(dim) == size,
                    "The dim %s (%s) of the operand (%s) of fft of type %s must be %s, by its fft_length (%s).",
                    dim,
                    array.dim(dim),
                    array,
                    fftType,
                    size,
                    lengths);
        }
        return switch (fftType) {
            case "RFFT" -> array.withDim(last, length / 2 + 1).withDType(DType.C64);
            case "IRFFT" -> array.withDim(last, length).withDType(DType.F32);
            default -> array;
        };
    }

    /** Lines are transformed one by one: the other dims may be cut. */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape from = operands.get(0).asArray();
        ArrayShape to = result.asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> in = new ArrayList<>();
        List<List<Integer>> out = new ArrayList<>();
        for (int d = 0; d < from.rank(); d++) {
            boolean whole = d >= from.rank() - lengths.size();
            List<Integer> factor = from.dim(d) == 1
                    ? List.of()
                    : List.of(rule.factor(from.dim(d), whole ? Factor.Kind.WHOLE : Factor.Kind.FREE));
            in.add(factor);
            out.add(
                    !whole || to.dim(d) == from.dim(d)
                            ? factor
                            : to.dim(d) == 1 ? List.of() : List.of(rule.factor(to.dim(d), Factor.Kind.WHOLE)));
        }
        return rule.operand(in).result(out).build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    /** The usual count, {@code 5 n log2(n)} for n complex numbers and half of it for n real ones, in whole bits. */
    @Override
    public long flops(List<Shape> operands, Shape result) {
        long elements =
                Math.max(operands.get(0).asArray().elements(), result.asArray().elements());
        long bits = 0;
        for (long length : lengths) {
            bits += Long.SIZE - Long.numberOfLeadingZeros(length - 1);
        }
        return 5 * elements * bits / (isReal() ? 2 : 1);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        ArrayShape from = x.shape();
        ArrayShape to = self.array();
        int rank = from.rank();
        int last = rank - 1;
        if (to.elements() == 0) {
            return Literal.zeros(to);
        }
        if (fftType.equals("RFFT")) {
            double[] full = new double[2 * x.size()];
            for (int i = 0; i < x.size(); i++) {
                full[2 * i] = x.doubles()[i];
            }
            for (int d = rank - lengths.size(); d <= last; d++) {
                transformDim(from, d, full);
            }
            int n = (int) from.dim(last);
            int kept = (int) to.dim(last);
            double[] out = new double[2 * (int) to.elements()];
            for (int line = 0; line < x.size() / n; line++) {
                System.arraycopy(full, 2 * line * n, out, 2 * line * kept, 2 * kept);
            }
            return Literal.ofDoubles(to, out);
        }
        double[] values = x.doubles().clone();
        for (int d = rank - lengths.size(); d < (isReal() ? last : rank); d++) {
            transformDim(from, d, values);
        }
        if (!isReal()) {
            return Literal.ofDoubles(to, values);
        }
        int n = (int) to.dim(last);
        int given = (int) from.dim(last);
        double[] out = new double[(int) to.elements()];
        double[] line = new double[2 * n];
        FourierLine fourier = new FourierLine(n, true);
        for (int row = 0; row < out.length / n; row++) {
            for (int k = 0; k < n; k++) {
                int source = 2 * (row * given + Math.min(k, n - k));
                line[2 * k] = values[source];
                boolean own = k == 0 || 2 * k == n;
                line[2 * k + 1] = own ? 0 : 2 * k < n ? values[source + 1] : -values[source + 1];
            }
            fourier.transform(line);
            for (int i = 0; i < n; i++) {
                out[row * n + i] = line[2 * i] / n;
            }
        }
        return Literal.ofDoubles(to, out);
    }

    /** Transforms all lines along a dim in place. */
    private void transformDim(ArrayShape shape, int dim, double[] values) {
        int n = (int) shape.dim(dim);
        int stride = (int) shape.strides()[dim];
        double scale = isInverse() ? n : 1;
        double[] line = new double[2 * n];
        FourierLine fourier = new FourierLine(n, isInverse());
        for (int first = 0; first < values.length / 2; first++) {
            if (first / stride % n != 0) {
                continue;
            }
            for (int i = 0; i < n; i++) {
                line[2 * i] = values[2 * (first + i * stride)];
                line[2 * i + 1] = values[2 * (first + i * stride) + 1];
            }
            fourier.transform(line);
            for (int i = 0; i < n; i++) {
                values[2 * (first + i * stride)] = line[2 * i] / scale;
                values[2 * (first + i * stride) + 1] = line[2 * i + 1] / scale;
            }
        }
    }

    /**
     * The matrix of a transform is symmetric, so that {@code FFT} and {@code IFFT} are their own gradients. {@code RFFT} is FFT of which
     * elements are dropped: zeros in their place. {@code IRFFT} reads each element, but those that are their own mirror, twice:
     *
     * <pre>
     *   dx[k] = conj(RFFT(dy)[k]) / n * (1 if k = 0 or 2 k = n, else 2)
     * </pre>
     */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction dy = cotangents.get(0);
        if (dy == null) {
            return Collections.singletonList(null);
        }
        OpBuilder b = context.build();
        if (!isReal()) {
            return List.of(b.builder().add(this, dy));
        }
        ArrayShape given = dy.array();
        int last = given.rank() - 1;
        long n = lengths.get(lengths.size() - 1);
        if (fftType.equals("RFFT")) {
            long[] none = new long[given.rank()];
            long[] high = none.clone();
            high[last] = n - given.dim(last);
            return List.of(b.real(b.builder().add(new Fft("FFT", lengths), b.pad(dy, 0, none, high))));
        }
        Instruction spectrum = b.builder().add(new Fft("RFFT", lengths), dy);
        ArrayShape half = spectrum.array().withDType(DType.F32);
        double elements = 1;
        for (long length : lengths) {
            elements *= length;
        }
        double[] weights = new double[(int) half.dim(last)];
        for (int k = 0; k < weights.length; k++) {
            weights[k] = (k == 0 || 2L * k == n ? 1 : 2) / elements;
        }
        Instruction line = b.constant(Literal.ofDoubles(ArrayShape.of(DType.F32, weights.length), weights));
        Instruction weight = b.broadcast(line, half.dims(), last);
        return List.of(b.complex(b.mul(b.real(spectrum), weight), b.neg(b.mul(b.imag(spectrum), weight))));
    }
}

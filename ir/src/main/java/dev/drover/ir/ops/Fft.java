package dev.drover.ir.ops;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;

/**
 * A Fourier transform over the last dims, as many as {@code lengths}. Carried with its shape; not evaluated yet.
 *
 * @param fftType {@code FFT}, {@code IFFT}, {@code RFFT} or {@code IRFFT}
 */
public record Fft(String fftType, List<Long> lengths) implements Op {
    static final OpKind KIND =
            new OpKind("fft", source -> new Fft(source.need("fft_type"), source.longs("fft_length")));

    public Fft {
        lengths = List.copyOf(lengths);
        if (!List.of("FFT", "IFFT", "RFFT", "IRFFT").contains(fftType) || lengths.isEmpty()) {
            throw new AttributeException(
                    "fft_type",
                    "The fft_type (" + fftType + ") must be FFT, IFFT, RFFT or IRFFT, with at least one fft_length.");
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

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        ArrayShape array = Check.array(this, operands, 0);
        int last = array.rank() - 1;
        Check.that(
                lengths.size() <= array.rank(),
                "The fft_length (%s) of fft must be no longer than the rank of its operand (%s).",
                lengths,
                array);
        long length = lengths.get(lengths.size() - 1);
        return switch (fftType) {
            case "RFFT" -> array.withDim(last, length / 2 + 1).withDType(DType.C64);
            case "IRFFT" -> array.withDim(last, length).withDType(DType.F32);
            default -> array;
        };
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        throw new UserError(
                "The op (fft) of instruction (" + self.name() + ") must be one that Drover can evaluate.",
                "Maybe write it as a dot with the matrix of the transform; planning works with it.");
    }
}

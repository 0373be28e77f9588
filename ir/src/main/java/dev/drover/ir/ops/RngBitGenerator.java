package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.List;

/**
 * Random bits from a counter: state {@code u64[n]} to (new state, bits). The state is a 64-bit key, then the counter (64 bits for
 * Threefry, 64 or 128 for Philox).
 *
 * @param algorithm {@code rng_three_fry}, {@code rng_philox} or {@code rng_default}
 * @param bits shape of the bits, an integer type
 */
public record RngBitGenerator(String algorithm, ArrayShape bits) implements Op {
    static final OpKind KIND = new OpKind("rng-bit-generator", RngBitGenerator::parse);

    private static Op parse(OpSource source) {
        List<ArrayShape> leaves = source.shape().leaves();
        if (leaves.size() != 2) {
            throw new AttributeException(
                    "", "The shape (" + source.shape() + ") of rng-bit-generator must be a pair of state and bits.");
        }
        return new RngBitGenerator(source.need("algorithm"), leaves.get(1));
    }

    @Override
    public String opcode() {
        return "rng-bit-generator";
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("algorithm", algorithm);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        ArrayShape state = Check.array(this, operands, 0);
        Check.that(
                state.dtype() == DType.U64 && state.rank() == 1 && state.dim(0) >= 2 && state.dim(0) <= 3,
                "The state (%s) of rng-bit-generator must be a u64[2] or a u64[3].",
                state);
        Check.that(bits.dtype().isInteger(), "The bits (%s) of rng-bit-generator must be of an integer type.", bits);
        return new TupleShape(List.of(state, bits));
    }

    /**
     * As XLA's expansions: Threefry2x32-20 and Philox4x32-10. {@code rng_default} is Philox, as on XLA's CPU (its other backends
     * choose for themselves). A Philox state of two words stands for the 128-bit counter whose high word is the key.
     */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal state = operands.get(0).literal();
        long[] s = state.longs();
        long[] next = s.clone();
        long[] out;
        if (algorithm.equals("rng_three_fry")) {
            out = CounterRandom.threefry(s[0], s[1], bits);
            next[1] += CounterRandom.threefryCounts(bits);
        } else {
            long n = (bits.elements() * (bits.dtype().bits() == 64 ? 2 : 1) + 3) / 4;
            out = CounterRandom.philox(s[0], s[1], s.length > 2 ? s[2] : s[0], bits);
            next[1] += n;
            if (s.length > 2 && Long.compareUnsigned(next[1], n) < 0) {
                next[2]++;
            }
        }
        return new Value.Tuple(List.of(Literal.ofLongs(state.shape(), next), Literal.ofLongs(bits, out)));
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** What {@link Op#localize} needs to know about one cut of an op's factors into equal blocks. */
public interface Localizer {

    /** Where local instructions are appended. */
    ComputationBuilder builder();

    /** The local operands, in the instruction's order. */
    List<Instruction> operands();

    /** The whole (uncut) instruction. */
    Instruction whole();

    /** The rule by which {@link #whole} was cut. */
    FactorRule rule();

    /** Blocks that a factor is cut into; 1 if it is not cut. */
    long parts(int factor);

    /** Which block of a factor is here: an {@code s32[]} value, a constant 0 if the factor is not cut. */
    Instruction partIndex(int factor);

    /**
     * The value as another part of a cut factor has it: on part k that of part {@code sourceByPart(k)}, zeros if there is no such part.
     * Only between devices.
     */
    default Instruction fetched(int factor, LongUnaryOperator sourceByPart, Instruction value) {
        throw new IllegalStateException(
                "The parts of factor (" + rule().factors().get(factor).name() + ") of instruction (" + whole().name()
                        + ") must be on devices to exchange values.");
    }

    /** The local shape of a result leaf. */
    ArrayShape localResult(int leaf);

    /** The local shape of the result of an op that yields an array. */
    default ArrayShape localResult() {
        return localResult(0);
    }
}

package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.memory.KernelWork;
import dev.drover.planner.spmd.InstructionCost;
import java.util.List;

/**
 * Times of a device's work in nanoseconds. A backend joins elementwise ops to chains, each of which reads and writes memory once: a program is
 * priced by the kernels that the backend makes of it ({@link #kernelNanos}) and what comes beside them ({@link #besideKernelsNanos}); an
 * instruction by itself, before a program is made, as if in a chain of {@link #CHAIN_OPS} ops.
 */
interface DeviceWork extends InstructionCost {
    /** Ops of a chain, as most are: one in so many results goes to memory. */
    int CHAIN_OPS = 3;

    /** A kernel, however small. */
    double callNanos();

    /** A device's cutting so many bytes out of what it has. */
    double cutNanos(double bytes);

    /** What a message costs its sender's computing. */
    double sendNanos(double bytes);

    /** All kernels of a program but products and collectives. */
    double kernelNanos(KernelWork kernels);

    /** What of an instruction is not in {@link #kernelNanos}: products of matrices, and computing that is slower than memory. */
    double besideKernelsNanos(
            Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results);
}

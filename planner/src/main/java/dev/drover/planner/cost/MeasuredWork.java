package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.memory.KernelWork;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Times of instructions from times that were measured. Elementwise work is joined to chains by the backend, each of which reads and writes
 * memory once; so it is priced by the kernels that the backend makes ({@link #kernelNanos}), or, before a program is made, as if every
 * instruction wrote its result to memory.
 */
final class MeasuredWork {
    /** What is not here is elementwise. */
    private static final Map<String, String> KIND_BY_OPCODE = new HashMap<>();

    private static final String NONE = "none";
    private static final String DOT = Measured.DOT;
    private static final String CONVOLUTION = Measured.CONVOLUTION;
    private static final String PASS = "pass";
    private static final String TRANSCENDENTAL = "transcendental";
    private static final String KERNEL = "kernel";
    private static final String CHAIN = "chain";
    private static final String DIVISION = "division";
    private static final String FIRST_CALL = "first-call";
    private static final String SEND = "send";
    private static final List<String> KINDS = List.of(KERNEL, DOT, PASS, CHAIN, DIVISION, TRANSCENDENTAL);
    /** Kernels of this size work in a processor's cache. */
    private static final double CACHED_BYTES = 1 << 20;
    /** Passes of this size go to memory. */
    private static final double UNCACHED_BYTES = 16 << 20;

    private static final String READ = "read";
    private static final String MOVE = "move";

    static {
        rows(NONE, "add-dependency bitcast broadcast constant copy domain get-tuple-element iota optimization-barrier");
        rows(NONE, "parameter partition-id replica-id reshape slice transpose tuple");
        rows(DOT, "call conditional dot fusion triangular-solve while");
        rows(CONVOLUTION, "convolution");
        rows(TRANSCENDENTAL, "atan2 cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic power");
        rows(TRANSCENDENTAL, "rng rng-bit-generator sine tan tanh");
        rows(READ, "batch-norm-grad batch-norm-training reduce reduce-window");
        rows(
                MOVE,
                "concatenate dynamic-slice dynamic-update-slice gather pad reverse scatter select-and-scatter sort topk");
    }

    private static void rows(String kind, String opcodes) {
        for (String opcode : opcodes.split(" ")) {
            KIND_BY_OPCODE.put(opcode, kind);
        }
    }

    private final Measured measured;

    MeasuredWork(Measured measured) {
        this.measured = measured;
    }

    /** Whether the times suffice. */
    static boolean canPrice(Measured measured) {
        return KINDS.stream().allMatch(measured::knows);
    }

    private static String kind(Instruction instruction) {
        return KIND_BY_OPCODE.getOrDefault(
                instruction.op().opcode(), instruction.op().isView() ? NONE : "elementwise");
    }

    /** An instruction by itself. */
    double nanos(Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        double own = besideKernelsNanos(instruction, flops, operands, results);
        double call = callNanos();
        return switch (kind(instruction)) {
            case NONE, DOT, CONVOLUTION -> own;
            case READ -> own + call + passNanos(bytes(operands));
            case MOVE -> own + moveNanos(bytes(results));
            // Mostly in a chain of some ops, of which one in three results goes to memory.
            default -> own + call / 3 + passNanos(bytes(results)) / 3 + elementwiseNanos(instruction, results);
        };
    }

    /** A kernel that reads and writes so many bytes. */
    double moveNanos(double bytes) {
        return callNanos() + passNanos(2 * bytes);
    }

    /** A kernel, however small. */
    double callNanos() {
        return measured.nanos(KERNEL, 1);
    }

    /** Of one kernel that reads and writes so many bytes. */
    private double passNanos(double bytes) {
        return bytes >= CACHED_BYTES
                ? measured.nanos(PASS, bytes)
                : measured.nanos(PASS, CACHED_BYTES) * bytes / CACHED_BYTES;
    }

    /**
     * All kernels of a program but products and collectives, and what the first touch costs: other work ran since the last run, so
     * code and values are no longer in the caches.
     */
    double kernelNanos(KernelWork kernels) {
        double nanos = measured.nanos(KERNEL, kernels.calls())
                + measured.nanos(CHAIN, (double) kernels.chainElements())
                + measured.nanos(DIVISION, (double) kernels.divisionElements());
        double each = (double) kernels.bytes() / Math.max(1, kernels.calls());
        double eachNanos = passNanos(each);
        nanos += eachNanos * kernels.calls();
        double perByte = each == 0 ? 0 : eachNanos / each;
        double uncachedPerByte = measured.nanos(PASS, UNCACHED_BYTES) / UNCACHED_BYTES;
        nanos += Math.max(0, uncachedPerByte - perByte) * kernels.touchedBytes();
        return measured.knows(FIRST_CALL) ? nanos + measured.nanos(FIRST_CALL, kernels.firstCalls()) : nanos;
    }

    /** What a message costs its sender. */
    double sendNanos(double bytes) {
        return measured.knows(SEND) ? measured.nanos(SEND, bytes) : 0;
    }

    /** What of an instruction is not in {@link #kernelNanos}: products of matrices, and computing that is slower than memory. */
    double besideKernelsNanos(
            Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        String kind = kind(instruction);
        if (kind.equals(DOT)) {
            double batch = batch(instruction, operands);
            return batch * measured.nanos(DOT, flops / batch);
        }
        if (kind.equals(CONVOLUTION)) {
            return measured.nanos(measured.knows(CONVOLUTION) ? CONVOLUTION : DOT, flops);
        }
        return kind.equals(TRANSCENDENTAL) ? measured.nanos(TRANSCENDENTAL, elements(results)) : 0;
    }

    private double elementwiseNanos(Instruction instruction, List<ArrayShape> results) {
        String opcode = instruction.op().opcode();
        String kind = opcode.equals("divide") || opcode.equals("sqrt") || opcode.equals("rsqrt") ? DIVISION : CHAIN;
        return measured.nanos(kind, elements(results));
    }

    /** Products that are made one by one. */
    private static double batch(Instruction instruction, List<ArrayShape> operands) {
        double batch = 1;
        if (instruction.op() instanceof Dot dot) {
            for (int dim : dot.lhsBatch()) {
                batch *= operands.get(0).dim(dim);
            }
        }
        return Math.max(1, batch);
    }

    private static double elements(List<ArrayShape> shapes) {
        return shapes.stream().mapToDouble(ArrayShape::elements).sum();
    }

    private static double bytes(List<ArrayShape> shapes) {
        return shapes.stream().mapToDouble(ArrayShape::sizeBytes).sum();
    }
}

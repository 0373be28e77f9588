package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.memory.KernelWork;
import java.util.List;

/** Times from times that were measured. */
final class MeasuredWork implements DeviceWork {
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

    private final Measured measured;

    MeasuredWork(Measured measured) {
        this.measured = measured;
    }

    /** Whether the times suffice. */
    static boolean canPrice(Measured measured) {
        return KINDS.stream().allMatch(measured::knows);
    }

    @Override
    public double nanos(Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        double own = besideKernelsNanos(instruction, flops, operands, results);
        double call = callNanos();
        return switch (WorkKind.of(instruction)) {
            case NONE, DOT, CONVOLUTION -> own;
            case READ -> own + call + passNanos(bytes(operands));
            case MOVE -> own + moveNanos(bytes(results));
            case ELEMENTWISE, TRANSCENDENTAL ->
                own + call / CHAIN_OPS + passNanos(bytes(results)) / CHAIN_OPS + elementwiseNanos(instruction, results);
        };
    }

    /** A kernel that reads so many bytes and writes as many. */
    private double moveNanos(double bytes) {
        return callNanos() + passNanos(2 * bytes);
    }

    /** The backend copies it. */
    @Override
    public double cutNanos(double bytes) {
        return moveNanos(bytes);
    }

    @Override
    public double callNanos() {
        return measured.nanos(KERNEL, 1);
    }

    /** Of one kernel that reads and writes so many bytes. */
    private double passNanos(double bytes) {
        return bytes >= CACHED_BYTES
                ? measured.nanos(PASS, bytes)
                : measured.nanos(PASS, CACHED_BYTES) * bytes / CACHED_BYTES;
    }

    /** With what the first touch costs: other work ran since the last run, so code and values are no longer in the caches. */
    @Override
    public double kernelNanos(KernelWork kernels) {
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

    @Override
    public double sendNanos(double bytes) {
        return measured.knows(SEND) ? measured.nanos(SEND, bytes) : 0;
    }

    @Override
    public double besideKernelsNanos(
            Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        return switch (WorkKind.of(instruction)) {
            case DOT -> {
                double batch = batch(instruction, operands);
                yield batch * measured.nanos(DOT, flops / batch);
            }
            case CONVOLUTION -> measured.nanos(measured.knows(CONVOLUTION) ? CONVOLUTION : DOT, flops);
            case TRANSCENDENTAL -> measured.nanos(TRANSCENDENTAL, elements(results));
            case NONE, ELEMENTWISE, READ, MOVE -> 0;
        };
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

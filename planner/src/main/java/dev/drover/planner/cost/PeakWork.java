package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.cluster.DeviceType;
import dev.drover.plan.memory.KernelWork;
import java.util.List;

/**
 * Times from a data sheet, by a roofline: the larger of flops over the device's speed for the element type and bytes read and written over its
 * memory bandwidth, plus the fixed time of an op.
 */
final class PeakWork implements DeviceWork {
    private final DeviceType device;

    PeakWork(DeviceType device) {
        this.device = device;
    }

    @Override
    public double nanos(Instruction whole, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        return switch (WorkKind.of(whole)) {
            case NONE -> 0;
            case DOT, CONVOLUTION, READ, MOVE -> rooflineNanos(whole, flops, operands, results);
            // What goes to memory is written once and read once.
            case ELEMENTWISE, TRANSCENDENTAL ->
                isIndex(operands) && isIndex(results)
                        ? 0
                        : Math.max(computeNanos(flops, results), moveNanos(bytes(results)) / CHAIN_OPS);
        };
    }

    @Override
    public double besideKernelsNanos(
            Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        return switch (WorkKind.of(instruction)) {
            case DOT, CONVOLUTION -> rooflineNanos(instruction, flops, operands, results);
            case NONE, ELEMENTWISE, TRANSCENDENTAL, READ, MOVE -> 0;
        };
    }

    private double rooflineNanos(
            Instruction instruction, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        double written = bytes(results);
        double bytes = written;
        for (int operand = 0; operand < operands.size(); operand++) {
            double all = (double) operands.get(operand).sizeBytes();
            bytes += instruction.op().readsAll(operand) ? all : Math.min(all, written);
        }
        return callNanos() + Math.max(computeNanos(flops, results), memoryNanos(bytes));
    }

    @Override
    public double kernelNanos(KernelWork kernels) {
        return kernels.calls() * callNanos() + memoryNanos((double) kernels.bytes());
    }

    @Override
    public double callNanos() {
        return device.opOverheadNanos();
    }

    /** A kernel that reads so many bytes and writes as many. */
    private double moveNanos(double bytes) {
        return callNanos() + memoryNanos(2 * bytes);
    }

    /** Compilers join a slice to the chain that reads it. */
    @Override
    public double cutNanos(double bytes) {
        return moveNanos(bytes) / CHAIN_OPS;
    }

    @Override
    public double sendNanos(double bytes) {
        return 0;
    }

    private double computeNanos(double flops, List<ArrayShape> results) {
        DType dtype =
                results.isEmpty() ? DType.F32 : results.get(results.size() - 1).dtype();
        return flops * 1e9 / device.flopsPerSecond(dtype);
    }

    private double memoryNanos(double bytes) {
        return bytes * 1e9 / device.memoryBytesPerSecond();
    }

    /** Where on a mesh a device is, and what follows from it: whole numbers, one at a time, which need no device. */
    private static boolean isIndex(List<ArrayShape> shapes) {
        return shapes.stream()
                .allMatch(shape -> shape.rank() == 0 && shape.dtype().isInteger());
    }

    private static double bytes(List<ArrayShape> shapes) {
        return shapes.stream().mapToDouble(ArrayShape::sizeBytes).sum();
    }
}

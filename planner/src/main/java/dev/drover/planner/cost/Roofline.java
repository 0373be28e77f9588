package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Constant;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.cluster.DeviceType;
import dev.drover.plan.cluster.Measured;
import dev.drover.planner.spmd.InstructionCost;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Compute time from a roofline: the larger of flops over the device's speed for the element type and bytes read and written over
 * its memory bandwidth, plus the fixed time of an op. Ops that only give another view of their operand take nothing, nor does what a
 * program is fed (parameters) or made of (constants), nor what is reckoned with single whole numbers, which needs no device. Where the devices
 * of a cluster were measured, what was measured counts instead.
 */
public final class Roofline implements InstructionCost {
    private final DeviceType device;
    private final @Nullable MeasuredWork measured;

    public Roofline(DeviceType device) {
        this(device, Measured.NONE);
    }

    public Roofline(DeviceType device, Measured measured) {
        this.device = device;
        this.measured = MeasuredWork.canPrice(measured) ? new MeasuredWork(measured) : null;
    }

    /** Time of an instruction on one device, on the shapes that it has: a whole one or a local one. */
    public double localNanos(Instruction instruction) {
        List<ArrayShape> operands = new ArrayList<>();
        instruction
                .operands()
                .forEach(operand -> operands.addAll(operand.shape().leaves()));
        return nanos(
                instruction,
                (double) instruction.op().flops(instruction.operandShapes(), instruction.shape()),
                operands,
                instruction.shape().leaves());
    }

    @Override
    public double nanos(Instruction whole, double flops, List<ArrayShape> operands, List<ArrayShape> results) {
        if (measured != null) {
            return measured.nanos(whole, flops, operands, results);
        }
        if (whole.op().isView() || whole.op() instanceof Parameter || whole.op() instanceof Constant) {
            return 0;
        }
        if (isIndex(operands) && isIndex(results)) {
            return 0;
        }
        DType dtype = DType.F32;
        long resultBytes = 0;
        for (ArrayShape result : results) {
            resultBytes += result.sizeBytes();
            dtype = result.dtype();
        }
        long bytes = resultBytes;
        for (int operand = 0; operand < operands.size(); operand++) {
            long all = operands.get(operand).sizeBytes();
            bytes += whole.op().readsAll(operand) ? all : Math.min(all, resultBytes);
        }
        double compute = flops * 1e9 / device.flopsPerSecond(dtype);
        double memory = bytes * 1e9 / device.memoryBytesPerSecond();
        return device.opOverheadNanos() + Math.max(compute, memory);
    }

    /** Where on a mesh a device is, and what follows from it: whole numbers, one at a time. */
    private static boolean isIndex(List<ArrayShape> shapes) {
        return shapes.stream()
                .allMatch(shape -> shape.rank() == 0 && shape.dtype().isInteger());
    }

    /** Time of one op that reads and writes so many bytes. */
    double moveNanos(long bytes) {
        return measured != null
                ? measured.moveNanos((double) bytes)
                : device.opOverheadNanos() + 2 * bytes * 1e9 / device.memoryBytesPerSecond();
    }
}

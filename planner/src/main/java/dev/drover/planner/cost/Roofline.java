package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.cluster.DeviceType;
import dev.drover.plan.cluster.Measured;
import dev.drover.planner.spmd.InstructionCost;
import java.util.ArrayList;
import java.util.List;

/** Time of instructions on a device: by a roofline, or, where the devices of a cluster were measured, by what was measured. */
public final class Roofline implements InstructionCost {
    private final DeviceWork work;

    public Roofline(DeviceType device) {
        this(device, Measured.NONE);
    }

    public Roofline(DeviceType device, Measured measured) {
        this.work = MeasuredWork.canPrice(measured) ? new MeasuredWork(measured) : new PeakWork(device);
    }

    DeviceWork work() {
        return work;
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
        return work.nanos(whole, flops, operands, results);
    }
}

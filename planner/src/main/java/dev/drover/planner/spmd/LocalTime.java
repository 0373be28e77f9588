package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.lower.LocalCut;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import java.util.ArrayList;
import java.util.List;

/**
 * What a strategy by which devices exchange pieces (halos, padded blocks) takes one device, read off the instructions that lowering
 * will make: copies and the op by their cost, collectives by alpha-beta.
 *
 * @param computeNanos of the local instructions
 * @param exchangeNanos of the collectives between them
 */
record LocalTime(double computeNanos, double exchangeNanos) {

    static LocalTime of(OpShardings shardings, OpStrategy strategy, InstructionCost cost, Resharder resharder) {
        double compute = 0;
        double exchange = 0;
        for (Instruction local :
                LocalCut.alone(shardings, strategy, resharder.mesh()).instructions()) {
            CollectiveKind kind = CollectiveKind.of(local.op());
            if (kind != null) {
                double slowest = 0;
                for (int axis : shardings.exchangingAxes(strategy)) {
                    slowest = Math.max(
                            slowest,
                            resharder.cost().nanos(kind, axis, local.shape().sizeBytes()));
                }
                exchange += slowest;
            } else if (!(local.op() instanceof Parameter)) {
                List<ArrayShape> operands = new ArrayList<>();
                local.operandShapes().forEach(shape -> operands.addAll(shape.leaves()));
                double flops = local.op().flops(local.operandShapes(), local.shape());
                compute += cost.nanos(local, flops, operands, local.shape().leaves());
            }
        }
        return new LocalTime(compute, exchange);
    }
}

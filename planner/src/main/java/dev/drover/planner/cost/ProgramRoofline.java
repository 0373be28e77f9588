package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Collective;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sim.ProgramCost;
import dev.drover.plan.task.Program;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Times of per-device programs: the roofline for each instruction, alpha-beta for each collective, beside each other. */
public final class ProgramRoofline implements ProgramCost {
    private static final Map<String, CollectiveKind> KIND_BY_OPCODE = new HashMap<>();

    static {
        for (CollectiveKind kind : CollectiveKind.values()) {
            KIND_BY_OPCODE.put(kind.opcode(), kind);
        }
    }

    private final Cluster cluster;

    public ProgramRoofline(Cluster cluster) {
        this.cluster = cluster;
    }

    @Override
    public ProgramTime time(Program program, List<Integer> meshRanks) {
        Roofline roofline = new Roofline(cluster.deviceType(meshRanks.get(0)));
        double compute = 0;
        CollectiveOverlap overlap = new CollectiveOverlap();
        for (Instruction instruction : program.computation().instructions()) {
            if (instruction.op() instanceof Collective exchange) {
                overlap.collective(instruction, collectiveNanos(instruction, exchange, meshRanks));
            } else {
                double nanos = roofline.nanos(
                        instruction,
                        (double) instruction.op().flops(instruction.operandShapes(), instruction.shape()),
                        leaves(instruction.operands()),
                        instruction.shape().leaves());
                overlap.compute(instruction, nanos);
                compute += nanos;
            }
        }
        return new ProgramTime(Math.round(compute), Math.round(overlap.exposedNanos()));
    }

    private double collectiveNanos(Instruction instruction, Collective exchange, List<Integer> meshRanks) {
        List<List<Integer>> groups = exchange.channel().groups().groups().stream()
                .map(group -> group.stream().map(meshRanks::get).toList())
                .toList();
        CollectiveTimes times = CollectiveTimes.of(cluster, groups.isEmpty() ? List.of(meshRanks) : groups);
        long operandBytes = 0;
        for (ArrayShape operand : leaves(instruction.operands())) {
            operandBytes += operand.sizeBytes();
        }
        CollectiveKind kind = KIND_BY_OPCODE.getOrDefault(instruction.op().opcode(), CollectiveKind.ALL_REDUCE);
        return times.nanos(kind, Math.max(operandBytes, instruction.shape().sizeBytes()));
    }

    private static List<ArrayShape> leaves(List<Instruction> values) {
        List<ArrayShape> out = new ArrayList<>();
        for (Instruction value : values) {
            out.addAll(value.shape().leaves());
        }
        return out;
    }

    @Override
    public long memoryNanos(int rank, long bytes) {
        return Math.round(bytes * 1e9 / cluster.deviceType(rank).memoryBytesPerSecond());
    }
}

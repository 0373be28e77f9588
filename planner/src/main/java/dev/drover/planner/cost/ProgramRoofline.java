package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Collective;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.KernelWork;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sim.ProgramCost;
import dev.drover.plan.task.CollectiveBuckets;
import dev.drover.plan.task.Program;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Times of per-device programs: each product of matrices by itself, the rest by the kernels which the backend makes of it (their calls, the
 * bytes that they read and write, what they compute), and beside these each collective, by alpha and beta or as it was measured. Where no
 * backend is known, each instruction by itself.
 */
public final class ProgramRoofline implements ProgramCost {
    private static final Map<String, CollectiveKind> KIND_BY_OPCODE = new HashMap<>();

    static {
        for (CollectiveKind kind : CollectiveKind.values()) {
            KIND_BY_OPCODE.put(kind.opcode(), kind);
        }
    }

    private final Cluster cluster;
    private final DeviceMemory memory;

    /** For devices whose backend is not known. */
    public ProgramRoofline(Cluster cluster) {
        this(cluster, DeviceMemory.ESTIMATE);
    }

    public ProgramRoofline(Cluster cluster, DeviceMemory memory) {
        this.cluster = cluster;
        this.memory = memory;
    }

    @Override
    public ProgramTime time(Program program, List<Integer> meshRanks) {
        DeviceWork device = work(meshRanks.get(0));
        KernelWork kernels = memory.kernels(program, meshRanks);
        double[] nanos = new double[program.computation().size()];
        double byInstruction = 0;
        double byKernel = kernels == null ? 0 : device.kernelNanos(kernels);
        for (Instruction instruction : program.computation().instructions()) {
            if (instruction.op() instanceof Collective) {
                continue;
            }
            double flops = (double) instruction.op().flops(instruction.operandShapes(), instruction.shape());
            List<ArrayShape> operands = leaves(instruction.operands());
            List<ArrayShape> results = instruction.shape().leaves();
            nanos[instruction.id()] = device.nanos(instruction, flops, operands, results);
            byInstruction += nanos[instruction.id()];
            byKernel += device.besideKernelsNanos(instruction, flops, operands, results);
        }
        double compute = kernels == null ? byInstruction : byKernel;
        // An instruction takes of the kernels' time what it takes of the instructions'.
        double share = byInstruction == 0 ? 0 : compute / byInstruction;
        CollectiveOverlap overlap = new CollectiveOverlap();
        double work = 0;
        for (Instruction instruction : program.computation().instructions()) {
            if (instruction.op() instanceof Collective exchange) {
                CollectiveTimes times = times(exchange, meshRanks);
                CollectiveKind kind =
                        KIND_BY_OPCODE.getOrDefault(instruction.op().opcode(), CollectiveKind.ALL_REDUCE);
                long bytes = CollectiveBuckets.exchangedBytes(instruction);
                overlap.collective(instruction, times.nanos(kind, bytes));
                work += times.workNanos(kind, bytes);
            } else {
                overlap.compute(instruction, nanos[instruction.id()] * share);
            }
        }
        // Not rounded down, so that no sum of the same times is a bound above the step.
        return new ProgramTime((long) Math.ceil(compute), Math.round(overlap.exposedNanos()), Math.round(work));
    }

    private CollectiveTimes times(Collective exchange, List<Integer> meshRanks) {
        List<List<Integer>> groups = exchange.channel().groups().groups().stream()
                .map(group -> group.stream().map(meshRanks::get).toList())
                .toList();
        return CollectiveTimes.of(cluster, groups.isEmpty() ? List.of(meshRanks) : groups);
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
        return Math.round(
                work(rank).callNanos() + bytes * 1e9 / cluster.deviceType(rank).memoryBytesPerSecond());
    }

    @Override
    public long sendNanos(long bytes) {
        return Math.round(work(0).sendNanos((double) bytes));
    }

    private DeviceWork work(int rank) {
        return new Roofline(cluster.deviceType(rank), cluster.measured()).work();
    }
}

package dev.drover.plan.task;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.AllGather;
import dev.drover.ir.ops.AllReduce;
import dev.drover.ir.ops.Collective;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.ReduceScatter;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.ReplicaGroups;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Puts the collectives of a program where they can run beside its computing, and independent ones of one kind together, as PyTorch's
 * DistributedDataParallel does with gradients (Li et al., VLDB 2020). A collective runs from its place to the first use of a result (see
 * {@link Lookahead#COLLECTIVES}), so a place is all that there is to decide:
 *
 * <pre>
 *   before   g2 = dot(..)  g1 = dot(..)  s2 = all-reduce(g2)  s1 = all-reduce(g1)  tuple(s1, s2)
 *   early    g2 = dot(..)  s2 = all-reduce(g2)  g1 = dot(..)  s1 = all-reduce(g1)  tuple(s1, s2)
 *   joined   g2 = dot(..)  g1 = dot(..)  t = all-reduce(g2, g1)  s2 = t#0  s1 = t#1  tuple(s1, s2)
 * </pre>
 *
 * Sums move to where their operand is made: they free as much memory as they take. Gathers stay, since an early one holds memory. A
 * bucket is closed when it is full, before the first use of a member, and at the end. All devices of a mesh run the same program, so
 * they start the same collectives in the same order. Elements are combined as without joining, in the same order of the members.
 */
public final class CollectiveBuckets {
    /** Of operands or results, whichever are larger, when a bucket is closed. */
    private static final long BUCKET_BYTES = 8L << 20;
    /** The first one is small, so that communication begins early. */
    public static final long FIRST_BYTES = 1L << 20;
    /** A result that is used so many instructions after its operand is waited for; it is not joined with others that are not. */
    public static final int SOON = 16;

    private final Computation from;
    private final ComputationBuilder builder;
    private final @Nullable Instruction[] made;
    private final int[] firstUse;
    private final Map<Kind, Bucket> open = new LinkedHashMap<>();
    private final Map<Integer, Bucket> bucketById = new HashMap<>();
    private final Set<Kind> begun = new HashSet<>();

    /** What joined collectives have in common. */
    private record Kind(
            String opcode,
            ReplicaGroups groups,
            int dimension,
            long groupSize,
            @Nullable Reduction reduction,
            @Nullable DType dtype,
            boolean soon) {}

    private record Bucket(Kind kind, List<Instruction> members) {
        long bytes() {
            return members.stream().mapToLong(CollectiveBuckets::exchangedBytes).sum();
        }
    }

    private CollectiveBuckets(Computation from) {
        this.from = from;
        this.builder = new ComputationBuilder(from.name());
        this.made = new @Nullable Instruction[from.size()];
        this.firstUse = new int[from.size()];
    }

    /** Bytes of a collective's operands or of its results, whichever are more. */
    public static long exchangedBytes(Instruction collective) {
        long operands = collective.operands().stream()
                .mapToLong(operand -> operand.shape().sizeBytes())
                .sum();
        return Math.max(operands, collective.shape().sizeBytes());
    }

    /** A flat program whose root is a tuple; parameters and outputs stay as they are. */
    static Computation arrange(Computation from) {
        boolean any = from.instructions().stream().anyMatch(i -> i.op() instanceof Collective);
        return any ? new CollectiveBuckets(from).run() : from;
    }

    private Computation run() {
        List<Instruction> order = early();
        findFirstUses(order);
        for (int at = 0; at < order.size(); at++) {
            Instruction instruction = order.get(at);
            for (Instruction operand : instruction.operands()) {
                Bucket bucket = bucketById.get(operand.id());
                if (bucket != null) {
                    close(bucket);
                }
            }
            Kind kind = kind(instruction, at);
            if (kind == null) {
                copy(instruction);
            } else {
                join(kind, instruction);
            }
        }
        Instruction root = made[from.root().id()];
        if (root == null) {
            throw new IllegalStateException("The root (" + from.root().name() + ") must be made.");
        }
        return builder.build(root);
    }

    /** Sums, and what only looks at a value, directly after the operand that is made last. */
    private List<Instruction> early() {
        int[] place = new int[from.size()];
        for (Instruction instruction : from.instructions()) {
            int id = instruction.id();
            boolean sum = instruction.op() instanceof AllReduce || instruction.op() instanceof ReduceScatter;
            if (instruction.op() instanceof Parameter) {
                place[id] = -1;
            } else if ((sum || instruction.op().isView())
                    && !instruction.operands().isEmpty()
                    && instruction != from.root()) {
                place[id] = -1;
                instruction.operands().forEach(operand -> place[id] = Math.max(place[id], place[operand.id()]));
            } else {
                place[id] = id;
            }
        }
        List<Instruction> order = new ArrayList<>(from.instructions());
        order.sort(Comparator.comparing((Instruction i) -> i == from.root() ? from.size() : place[i.id()])
                .thenComparing(Instruction::id));
        return order;
    }

    /** Where each value is first used by more than a view; the root uses at the very end. */
    private void findFirstUses(List<Instruction> order) {
        Arrays.fill(firstUse, Integer.MAX_VALUE);
        for (int at = order.size() - 1; at >= 0; at--) {
            Instruction user = order.get(at);
            if (user == from.root()) {
                continue;
            }
            int use = user.op().isView() ? firstUse[user.id()] : at;
            for (Instruction operand : user.operands()) {
                firstUse[operand.id()] = Math.min(firstUse[operand.id()], use);
            }
        }
    }

    private @Nullable Kind kind(Instruction instruction, int at) {
        if (instruction.operands().size() != 1 || !(instruction.shape() instanceof ArrayShape array)) {
            return null;
        }
        boolean soon = (long) firstUse[instruction.id()] - at <= SOON;
        Op op = instruction.op();
        if (op instanceof AllReduce sum && !sum.start()) {
            return new Kind(op.opcode(), sum.channel().groups(), -1, 1, sum.reduction(), array.dtype(), soon);
        }
        if (op instanceof ReduceScatter sum) {
            return new Kind(
                    op.opcode(),
                    sum.channel().groups(),
                    sum.dimension(),
                    sum.groupSize(),
                    sum.reduction(),
                    array.dtype(),
                    soon);
        }
        if (op instanceof AllGather gather && !gather.start()) {
            return new Kind(
                    op.opcode(), gather.channel().groups(), gather.dimension(), gather.groupSize(), null, null, soon);
        }
        return null;
    }

    private void join(Kind kind, Instruction instruction) {
        Bucket bucket = open.computeIfAbsent(kind, k -> new Bucket(k, new ArrayList<>()));
        bucket.members.add(instruction);
        bucketById.put(instruction.id(), bucket);
        boolean unknownSum = kind.reduction == null && !(instruction.op() instanceof AllGather);
        if (unknownSum || bucket.bytes() >= (begun.contains(kind) ? BUCKET_BYTES : FIRST_BYTES)) {
            close(bucket);
        }
    }

    /** Makes the collective of a bucket. */
    private void close(Bucket bucket) {
        open.remove(bucket.kind);
        begun.add(bucket.kind);
        bucket.members.forEach(member -> bucketById.remove(member.id()));
        if (bucket.members.size() == 1) {
            copy(bucket.members.get(0));
            return;
        }
        List<Instruction> operands =
                bucket.members.stream().map(member -> operand(member, 0)).toList();
        Instruction joined = builder.add(bucket.members.get(0).op(), operands);
        for (int i = 0; i < operands.size(); i++) {
            Instruction member = bucket.members.get(i);
            made[member.id()] = builder.add(new GetTupleElement(i), List.of(joined), member.name(), Map.of());
        }
    }

    private void copy(Instruction instruction) {
        List<Instruction> operands = new ArrayList<>();
        for (int i = 0; i < instruction.operands().size(); i++) {
            operands.add(operand(instruction, i));
        }
        made[instruction.id()] = instruction.op() instanceof Parameter
                ? builder.parameter(instruction.name(), instruction.shape())
                : builder.add(instruction.op(), operands, instruction.name(), instruction.annotations());
    }

    private Instruction operand(Instruction instruction, int index) {
        Instruction operand = made[instruction.operand(index).id()];
        if (operand == null) {
            throw new IllegalStateException("The operand ("
                    + instruction.operand(index).name() + ") of " + instruction.name() + " must be made before it.");
        }
        return operand;
    }
}

package dev.drover.plan.task;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.AllGather;
import dev.drover.ir.ops.AllReduce;
import dev.drover.ir.ops.ReduceScatter;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.TupleShape;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Cuts each level of POST work of a stage into pieces that share small values only, so that the optimizer goes parameter by parameter
 * and old and new state need not all be alive together.
 *
 * <pre>
 * step count -> learning rate          piece 0, small values only
 * w0, m0, g0 -> new w0, new m0         piece 1
 * w1, m1, g1 -> new w1, new m1         piece 2
 * </pre>
 *
 * Where devices update a part each and gather the whole, the gathers of several pieces follow in a piece of their own, so that the
 * devices wait for each other once for all of them:
 *
 * <pre>
 * part of w0, m0, g0 -> new part of w0, new m0        piece 1
 * part of w1, m1, g1 -> new part of w1, new m1        piece 2
 * all-gather(new part of w0, new part of w1)          piece 3
 * </pre>
 *
 * And where devices have terms of sums over all micro-batches, these are added in pieces of their own before all others:
 *
 * <pre>
 * all-reduce(terms of g0, terms of g1)                piece 0
 * </pre>
 */
final class PostPieces {
    private static final long SMALL_BYTES = 1 << 12;
    /** Pieces of one level are put together until each has this share of its bytes. */
    private static final int MOST_PIECES = 24;
    /** Gathers wait for each other until their results have so many bytes, sums of terms until operands or results have. */
    private static final long JOINED_BYTES = 25L << 20;

    private final StepParts parts;
    private final int[] rank;
    private final int[] group;
    /** Sums of what devices have accumulated, and the views that they take. */
    private final boolean[] first;
    /** Gathers at the end of a level, and the views of them. */
    private final boolean[] last;
    /** Makes or takes large values. */
    private final boolean[] heavy;

    PostPieces(StepParts parts) {
        this.parts = parts;
        this.rank = new int[parts.computation().size()];
        this.group = new int[parts.computation().size()];
        this.first = new boolean[parts.computation().size()];
        this.last = new boolean[parts.computation().size()];
        this.heavy = new boolean[parts.computation().size()];
    }

    void refine() {
        Map<StepParts.Key, List<Instruction>> membersByKey = new TreeMap<>();
        for (Instruction instruction : parts.computation().instructions()) {
            StepParts.Key key = parts.key(instruction.id());
            if (key != null && key.phase() == Phase.POST && parts.isProgramWork(instruction)) {
                membersByKey.computeIfAbsent(key, k -> new ArrayList<>()).add(instruction);
            }
        }
        membersByKey.forEach(this::refine);
    }

    private static boolean isLarge(Instruction instruction) {
        return instruction.shape().sizeBytes() > SMALL_BYTES;
    }

    /** Whether it makes or takes a large value: a sum over one is made where its terms are. */
    private boolean isHeavy(Instruction instruction) {
        return isLarge(instruction) || parts.sources(instruction).stream().anyMatch(PostPieces::isLarge);
    }

    /** Backwards: a view is one of them only if its operand turns out to be, so both are marked first and unmarked forwards. */
    private void findLast(StepParts.Key key, List<Instruction> members) {
        Set<Integer> used = new HashSet<>();
        for (int i = members.size() - 1; i >= 0; i--) {
            Instruction instruction = members.get(i);
            int id = instruction.id();
            boolean gather = instruction.op() instanceof AllGather;
            last[id] = !used.contains(id) && (gather || instruction.op().isView());
            boolean viewOfLast = last[id] && !gather;
            for (Instruction source : viewOfLast ? List.<Instruction>of() : parts.sources(instruction)) {
                used.add(source.id());
            }
        }
        for (Instruction instruction : members) {
            boolean gather = instruction.op() instanceof AllGather;
            if (last[instruction.id()] && !gather) {
                last[instruction.id()] = parts.sources(instruction).stream()
                        .allMatch(source -> isMember(source, key) && last[source.id()]);
            }
        }
    }

    /** Forwards, then backwards: a view is one of them only if a sum turns out to take it. */
    private void findFirst(List<Instruction> members) {
        for (Instruction instruction : members) {
            first[instruction.id()] = (isSum(instruction) || instruction.op().isView())
                    && parts.sources(instruction).stream()
                            .allMatch(source -> StepParts.isTaskWork(source) || first[source.id()]);
        }
        Set<Integer> summed = new HashSet<>();
        for (int i = members.size() - 1; i >= 0; i--) {
            Instruction instruction = members.get(i);
            int id = instruction.id();
            first[id] &= isSum(instruction) || summed.contains(id);
            if (first[id]) {
                instruction.operands().forEach(operand -> summed.add(operand.id()));
            }
        }
    }

    private static boolean isSum(Instruction instruction) {
        return instruction.op() instanceof AllReduce || instruction.op() instanceof ReduceScatter;
    }

    /** Whether two of a level may be in one piece. */
    private boolean isAlike(int a, int b) {
        return heavy[a] == heavy[b] && last[a] == last[b] && first[a] == first[b];
    }

    private void refine(StepParts.Key key, List<Instruction> members) {
        findFirst(members);
        findLast(key, members);
        for (Instruction instruction : members) {
            int id = instruction.id();
            group[id] = id;
            heavy[id] = isHeavy(instruction);
            rank[id] = first[id] ? 0 : heavy[id] ? 2 : 1;
            if (instruction.takesATuple()) {
                heavy[id] = heavy[instruction.operand(0).id()];
                rank[id] = rank[instruction.operand(0).id()];
                continue;
            }
            for (Instruction source : parts.sources(instruction)) {
                if (isMember(source, key)) {
                    rank[id] = Math.max(rank[id], rank[source.id()] + (isAlike(source.id(), id) ? 0 : 1));
                }
            }
        }
        makeTuplesWhereTheyAreTaken(members);
        putOff(members);
        for (Instruction instruction : members) {
            for (Instruction source : parts.sources(instruction)) {
                if (isMember(source, key) && rank[source.id()] == rank[instruction.id()]) {
                    join(source.id(), instruction.id());
                }
            }
        }
        number(members);
    }

    private void makeTuplesWhereTheyAreTaken(List<Instruction> members) {
        for (int i = members.size() - 1; i >= 0; i--) {
            int id = members.get(i).id();
            for (Instruction operand : members.get(i).operands()) {
                if (operand.op() instanceof Tuple) {
                    heavy[operand.id()] = heavy[id];
                    rank[operand.id()] = rank[id];
                }
            }
        }
    }

    private static boolean hasTuples(Instruction instruction) {
        return instruction.shape() instanceof TupleShape
                || instruction.operands().stream().anyMatch(operand -> operand.shape() instanceof TupleShape);
    }

    /**
     * What is made of the old state alone, which is there throughout, waits until it is used: the decayed moments of all parameters
     * need not be kept while the norm of all gradients is computed.
     */
    private void putOff(List<Instruction> members) {
        Map<Integer, Integer> firstUse = new HashMap<>();
        Set<Integer> ofState = new HashSet<>();
        for (Instruction instruction : members) {
            boolean all = true;
            for (Instruction source : parts.sources(instruction)) {
                all &= parts.isStateInput(source) || !isLarge(source) || ofState.contains(source.id());
            }
            if (all) {
                ofState.add(instruction.id());
            }
        }
        for (int i = members.size() - 1; i >= 0; i--) {
            Instruction instruction = members.get(i);
            int id = instruction.id();
            if (ofState.contains(id) && isLarge(instruction) && !hasTuples(instruction)) {
                rank[id] = Math.max(rank[id], firstUse.getOrDefault(id, rank[id]));
            }
            for (Instruction source : parts.sources(instruction)) {
                firstUse.merge(source.id(), rank[id] - (isAlike(source.id(), id) ? 0 : 1), Math::min);
            }
        }
    }

    private boolean isMember(Instruction instruction, StepParts.Key key) {
        return key.equals(parts.key(instruction.id())) && parts.isProgramWork(instruction);
    }

    private void number(List<Instruction> members) {
        Map<Integer, Map<Integer, List<Instruction>>> byRankAndGroup = new TreeMap<>();
        Map<Integer, List<Instruction>> gathersBySource = new TreeMap<>();
        List<Instruction> sums = new ArrayList<>();
        long total = 0;
        for (Instruction instruction : members) {
            int found = find(instruction.id());
            if (first[instruction.id()]) {
                sums.add(instruction);
            } else if (last[instruction.id()]) {
                List<Instruction> sources =
                        parts.sources(parts.computation().instructions().get(found));
                int source = sources.isEmpty() ? -1 : sources.get(0).id();
                gathersBySource.computeIfAbsent(source, s -> new ArrayList<>()).add(instruction);
            } else {
                byRankAndGroup
                        .computeIfAbsent(rank[instruction.id()], r -> new TreeMap<>())
                        .computeIfAbsent(found, g -> new ArrayList<>())
                        .add(instruction);
            }
            total += instruction.shape().sizeBytes();
        }
        // Numbers are given at the end: while they are, keys of members would no longer be equal.
        Map<Integer, Integer> pieceById = new TreeMap<>();
        int piece = putSums(sums, pieceById);
        List<Instruction> gathers = new ArrayList<>();
        for (Map<Integer, List<Instruction>> groups : byRankAndGroup.values()) {
            long bytes = 0;
            List<List<Instruction>> ordered = groups.values().stream()
                    .sorted(Comparator.comparing(g -> g.get(0).id()))
                    .toList();
            for (List<Instruction> one : ordered) {
                boolean gather = bytes(gathers) >= JOINED_BYTES;
                if (bytes > total / MOST_PIECES || gather) {
                    piece++;
                    bytes = 0;
                }
                if (gather) {
                    put(gathers, piece++, pieceById);
                }
                for (Instruction instruction : one) {
                    pieceById.put(instruction.id(), piece);
                    bytes += instruction.shape().sizeBytes();
                    List<Instruction> ready = gathersBySource.remove(instruction.id());
                    gathers.addAll(ready == null ? List.of() : ready);
                }
            }
            piece++;
        }
        gathersBySource.values().forEach(gathers::addAll);
        put(gathers, piece, pieceById);
        pieceById.forEach(parts::setPiece);
    }

    /** Those of one value together; returns the next piece. */
    private int putSums(List<Instruction> sums, Map<Integer, Integer> pieceById) {
        int piece = 0;
        long bytes = 0;
        for (Instruction sum : sums) {
            int one = find(sum.id());
            if (pieceById.containsKey(one)) {
                pieceById.put(sum.id(), pieceById.get(one));
                continue;
            }
            if (bytes >= JOINED_BYTES) {
                piece++;
                bytes = 0;
            }
            pieceById.put(sum.id(), piece);
            bytes += CollectiveBuckets.exchangedBytes(sum);
        }
        return sums.isEmpty() ? 0 : piece + 1;
    }

    private static long bytes(List<Instruction> instructions) {
        return instructions.stream().mapToLong(i -> i.shape().sizeBytes()).sum();
    }

    private static void put(List<Instruction> instructions, int piece, Map<Integer, Integer> pieceById) {
        instructions.forEach(instruction -> pieceById.put(instruction.id(), piece));
        instructions.clear();
    }

    private int find(int id) {
        int at = id;
        while (group[at] != at) {
            group[at] = group[group[at]];
            at = group[at];
        }
        return at;
    }

    private void join(int a, int b) {
        int first = find(a);
        int second = find(b);
        group[Math.max(first, second)] = Math.min(first, second);
    }
}

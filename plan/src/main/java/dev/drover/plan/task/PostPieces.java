package dev.drover.plan.task;

import dev.drover.ir.graph.Instruction;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
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
 */
final class PostPieces {
    private static final long SMALL_BYTES = 1 << 12;
    /** Pieces of one level are put together until each has this share of its bytes. */
    private static final int MOST_PIECES = 24;

    private final StepParts parts;
    private final int[] rank;
    private final int[] group;

    PostPieces(StepParts parts) {
        this.parts = parts;
        this.rank = new int[parts.computation().size()];
        this.group = new int[parts.computation().size()];
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

    private void refine(StepParts.Key key, List<Instruction> members) {
        for (Instruction instruction : members) {
            int id = instruction.id();
            group[id] = id;
            rank[id] = isLarge(instruction) ? 1 : 0;
            for (Instruction source : parts.sources(instruction)) {
                if (isMember(source, key)) {
                    boolean same = isLarge(source) == isLarge(instruction);
                    rank[id] = Math.max(rank[id], rank[source.id()] + (same ? 0 : 1));
                }
            }
        }
        for (Instruction instruction : members) {
            for (Instruction source : parts.sources(instruction)) {
                if (isMember(source, key) && rank[source.id()] == rank[instruction.id()]) {
                    join(source.id(), instruction.id());
                }
            }
        }
        number(members);
    }

    private boolean isMember(Instruction instruction, StepParts.Key key) {
        return key.equals(parts.key(instruction.id())) && parts.isProgramWork(instruction);
    }

    private void number(List<Instruction> members) {
        Map<Integer, Map<Integer, List<Instruction>>> byRankAndGroup = new TreeMap<>();
        long total = 0;
        for (Instruction instruction : members) {
            byRankAndGroup
                    .computeIfAbsent(rank[instruction.id()], r -> new TreeMap<>())
                    .computeIfAbsent(find(instruction.id()), g -> new ArrayList<>())
                    .add(instruction);
            total += instruction.shape().sizeBytes();
        }
        // Numbers are given at the end: while they are, keys of members would no longer be equal.
        Map<Integer, Integer> pieceById = new TreeMap<>();
        int piece = 0;
        for (Map<Integer, List<Instruction>> groups : byRankAndGroup.values()) {
            long bytes = 0;
            List<List<Instruction>> ordered = groups.values().stream()
                    .sorted(Comparator.comparing(g -> g.get(0).id()))
                    .toList();
            for (List<Instruction> one : ordered) {
                if (bytes > total / MOST_PIECES) {
                    piece++;
                    bytes = 0;
                }
                for (Instruction instruction : one) {
                    pieceById.put(instruction.id(), piece);
                    bytes += instruction.shape().sizeBytes();
                }
            }
            piece++;
        }
        pieceById.forEach(parts::setPiece);
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

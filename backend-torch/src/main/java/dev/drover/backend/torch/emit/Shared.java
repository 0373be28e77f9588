package dev.drover.backend.torch.emit;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A kernel that a team does in pieces. Neighbours in a program that do not touch each other's memory are done together, so that the
 * threads meet once at the end of all:
 *
 * <pre>
 *   q = x wq | k = x wk | v = x wv        3 products of 4 tiles, 3 meetings
 *   q, k, v  = 12 tiles                   1 meeting
 * </pre>
 *
 * @param before done by the caller ahead of the pieces
 */
public record Shared(Team team, Runnable before, int pieces, Team.Work work) implements Runnable {
    public Shared(Team team, int pieces, Team.Work work) {
        this(team, () -> {}, pieces, work);
    }

    @Override
    public void run() {
        before.run();
        team.run(pieces, work);
    }

    /**
     * What runs as one.
     *
     * @param name of the instructions
     */
    public record Joined(String name, Runnable step) {}

    /** The steps of a program, bound, in order; neighbours that may be done together are one. */
    static List<Joined> join(List<Step> steps, List<Runnable> bound) {
        List<Joined> out = new ArrayList<>();
        int at = 0;
        while (at < bound.size()) {
            int end = at + 1;
            if (bound.get(at) instanceof Shared) {
                while (end < bound.size()
                        && bound.get(end) instanceof Shared
                        && independent(steps.get(end), steps.subList(at, end))) {
                    end++;
                }
            }
            String name =
                    steps.subList(at, end).stream().map(Step::name).distinct().collect(Collectors.joining(", "));
            out.add(new Joined(name, end - at == 1 ? bound.get(at) : together(bound.subList(at, end))));
            at = end;
        }
        return out;
    }

    private static Shared together(List<Runnable> some) {
        Shared[] parts = some.stream().map(Shared.class::cast).toArray(Shared[]::new);
        int count = 0;
        for (Shared part : parts) {
            count += part.pieces;
        }
        int[] partByPiece = new int[count];
        int[] pieceByPiece = new int[count];
        int at = 0;
        for (int p = 0; p < parts.length; p++) {
            for (int i = 0; i < parts[p].pieces; i++) {
                partByPiece[at] = p;
                pieceByPiece[at++] = i;
            }
        }
        Runnable before = () -> {
            for (Shared part : parts) {
                part.before.run();
            }
        };
        return new Shared(
                parts[0].team,
                before,
                count,
                (member, piece) -> parts[partByPiece[piece]].work.run(member, pieceByPiece[piece]));
    }

    private static boolean independent(Step step, List<Step> others) {
        for (Step other : others) {
            if (meet(step.writes(), other.reads())
                    || meet(step.writes(), other.writes())
                    || meet(step.reads(), other.writes())) {
                return false;
            }
        }
        return true;
    }

    private static boolean meet(List<View> some, List<View> others) {
        for (View one : some) {
            for (View other : others) {
                if (overlap(one.buffer().root(), other.buffer().root())) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean overlap(Buffer one, Buffer other) {
        if (one == other) {
            return true;
        }
        return one.kind() == Buffer.Kind.POOL
                && other.kind() == Buffer.Kind.POOL
                && one.offsetBytes() < other.offsetBytes() + other.sizeBytes()
                && other.offsetBytes() < one.offsetBytes() + one.sizeBytes();
    }
}

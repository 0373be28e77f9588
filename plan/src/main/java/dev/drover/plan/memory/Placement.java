package dev.drover.plan.memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * Lays regions into one piece of memory such that those which hold something at the same time do not overlap: what lives always at the
 * bottom, the rest one after the other, each at the lowest free offset, in the order that needs the least of a few.
 *
 * <pre>
 *   offset
 *     |        [ activations of F1 ]
 *     |  [ activations of F0 ]      [ pool of the optimizer's program ]
 *     |  [ pool of F ]  [ pool of F ] [ pool of B ]
 *     |  parameters, optimizer state, constants
 *     +------------------------------------------------> task
 * </pre>
 */
final class Placement {
    private Placement() {}

    private static final List<Comparator<Region>> ORDERS = List.of(
            Comparator.comparingLong((Region r) -> -r.sizeBytes()).thenComparingInt(Region::firstTask),
            Comparator.comparingInt(Region::firstTask).thenComparingLong(r -> -r.sizeBytes()),
            Comparator.comparingInt((Region r) -> r.firstTask() - r.lastTask()).thenComparingLong(r -> -r.sizeBytes()));

    /** Up to so many regions are also placed one by one, which wastes less than blocks and takes the square of their number. */
    private static final int MOST_ONE_BY_ONE = 4_000;

    /** The same regions, in the same order, with offsets. */
    static List<Region> place(List<Region> regions) {
        return place(regions, IntUnaryOperator.identity());
    }

    /**
     * The same regions, in the same order, with offsets.
     *
     * @param turn of a task: equal for tasks between which nothing new is made. Monotone
     */
    static List<Region> place(List<Region> regions, IntUnaryOperator turn) {
        long bottom = 0;
        Region[] placed = new Region[regions.size()];
        List<Integer> free = new ArrayList<>();
        for (int i = 0; i < placed.length; i++) {
            Region region = regions.get(i);
            if (region.alwaysLive()) {
                placed[i] = region.at(bottom);
                bottom += Region.aligned(region.sizeBytes());
            } else {
                free.add(i);
            }
        }
        // Regions with the same lives (what one pass keeps for another) are placed as one block, which saves time.
        Map<List<Region.Life>, List<Integer>> membersByTasks = new LinkedHashMap<>();
        Map<List<Region.Life>, List<Integer>> membersByTurns = new LinkedHashMap<>();
        for (int i : free) {
            List<Region.Life> lives = regions.get(i).lives();
            membersByTasks.computeIfAbsent(lives, k -> new ArrayList<>()).add(i);
            membersByTurns
                    .computeIfAbsent(
                            lives.stream()
                                    .map(life -> new Region.Life(
                                            turn.applyAsInt(life.firstTask()), turn.applyAsInt(life.lastTask())))
                                    .toList(),
                            k -> new ArrayList<>())
                    .add(i);
        }
        Blocks best = Blocks.placed(regions, membersByTurns);
        if (membersByTasks.size() <= MOST_ONE_BY_ONE && membersByTasks.size() > membersByTurns.size()) {
            Blocks finer = Blocks.placed(regions, membersByTasks);
            best = finer.bytes <= best.bytes ? finer : best;
        }
        for (int b = 0; b < best.members.size(); b++) {
            long offset = bottom + best.offsets[b];
            for (int i : best.members.get(b)) {
                placed[i] = regions.get(i).at(offset);
                offset += Region.aligned(regions.get(i).sizeBytes());
            }
        }
        return List.of(placed);
    }

    /** Regions that lie together, and where. */
    private static final class Blocks {
        private final List<List<Integer>> members;
        private final long[] offsets;
        private final long bytes;

        private Blocks(List<List<Integer>> members, long[] offsets, long bytes) {
            this.members = members;
            this.offsets = offsets;
            this.bytes = bytes;
        }

        static Blocks placed(List<Region> regions, Map<List<Region.Life>, List<Integer>> membersByLives) {
            List<List<Integer>> members = new ArrayList<>();
            List<Region> blocks = new ArrayList<>();
            membersByLives.forEach((lives, block) -> {
                long bytes = block.stream()
                        .mapToLong(i -> Region.aligned(regions.get(i).sizeBytes()))
                        .sum();
                Region first = regions.get(block.get(0));
                members.add(block);
                blocks.add(new Region(first.kind(), first.name(), 0, bytes, false, lives));
            });
            long[] best = {};
            long leastBytes = Long.MAX_VALUE;
            Lives lives = new Lives(blocks);
            for (Comparator<Region> order : ORDERS) {
                long[] offsets = Placement.offsets(lives, order);
                long bytes = IntStream.range(0, offsets.length)
                        .mapToLong(i -> offsets[i] + blocks.get(i).sizeBytes())
                        .max()
                        .orElse(0);
                if (bytes < leastBytes) {
                    leastBytes = bytes;
                    best = offsets;
                }
            }
            return new Blocks(members, best, leastBytes);
        }
    }

    /** Blocks with their first and last tasks at hand, because most pairs of blocks are told apart by these. */
    private static final class Lives {
        private final List<Region> blocks;
        private final int[] firstTask;
        private final int[] lastTask;
        private final boolean[] isOneLife;
        private final long[] sizeBytes;

        Lives(List<Region> blocks) {
            this.blocks = blocks;
            this.firstTask = blocks.stream().mapToInt(Region::firstTask).toArray();
            this.lastTask = blocks.stream().mapToInt(Region::lastTask).toArray();
            this.sizeBytes = blocks.stream().mapToLong(Region::sizeBytes).toArray();
            this.isOneLife = new boolean[blocks.size()];
            for (int block = 0; block < isOneLife.length; block++) {
                isOneLife[block] = blocks.get(block).lives().size() == 1;
            }
        }

        boolean overlap(int a, int b) {
            if (lastTask[a] < firstTask[b] || lastTask[b] < firstTask[a]) {
                return false;
            }
            return (isOneLife[a] && isOneLife[b]) || blocks.get(a).overlaps(blocks.get(b));
        }
    }

    private static long[] offsets(Lives lives, Comparator<Region> order) {
        int[] sequence = IntStream.range(0, lives.blocks.size())
                .boxed()
                .sorted(Comparator.comparing(lives.blocks::get, order))
                .mapToInt(Integer::intValue)
                .toArray();
        long[] offsets = new long[sequence.length];
        int[] byOffset = new int[sequence.length];
        int placed = 0;
        for (int block : sequence) {
            offsets[block] = lowestFree(block, lives, byOffset, placed, offsets);
            int at = placed++;
            while (at > 0 && offsets[byOffset[at - 1]] > offsets[block]) {
                byOffset[at] = byOffset[at - 1];
                at--;
            }
            byOffset[at] = block;
        }
        return offsets;
    }

    private static long lowestFree(int block, Lives lives, int[] byOffset, int placed, long[] offsets) {
        long at = 0;
        for (int i = 0; i < placed; i++) {
            int other = byOffset[i];
            long end = offsets[other] + lives.sizeBytes[other];
            if (end > at && lives.overlap(other, block)) {
                if (offsets[other] - at >= lives.sizeBytes[block]) {
                    return at;
                }
                at = end;
            }
        }
        return at;
    }
}

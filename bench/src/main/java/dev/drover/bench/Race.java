package dev.drover.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Lets contenders take turns, step by step, so that what else the machine does meets all of them. A ratio is the median over rounds of
 * another's time over the first one's in the same round.
 */
final class Race {
    private static final int WARM_UP = 4;

    private Race() {}

    static void run(List<Contender> contenders, int rounds) throws IOException {
        Map<Contender, List<Contender.Turn>> turns = new LinkedHashMap<>();
        contenders.forEach(c -> turns.put(c, new ArrayList<>()));
        for (int round = -WARM_UP; round < rounds; round++) {
            for (int i = 0; i < contenders.size(); i++) {
                Contender contender = contenders.get(Math.floorMod(i + round, contenders.size()));
                pause();
                Contender.Turn turn = contender.step();
                if (round >= 0) {
                    turns.getOrDefault(contender, List.of()).add(turn);
                }
            }
        }
        List<Contender.Turn> first = turns.getOrDefault(contenders.get(0), List.of());
        System.out.printf(
                "%-24s %12s %10s %10s   %s%n",
                "", "median ms", "best ms", "cpu ms", "ratio to it: wall, best, processor");
        turns.forEach((contender, list) -> {
            double[] wall = list.stream()
                    .mapToDouble(Contender.Turn::wallMillis)
                    .sorted()
                    .toArray();
            double[] cpu = list.stream()
                    .mapToDouble(Contender.Turn::cpuMillis)
                    .sorted()
                    .toArray();
            double[] ratio = new double[rounds];
            double[] cpuRatio = new double[rounds];
            Arrays.setAll(ratio, r -> list.get(r).wallMillis() / first.get(r).wallMillis());
            Arrays.setAll(cpuRatio, r -> list.get(r).cpuMillis() / first.get(r).cpuMillis());
            Arrays.sort(ratio);
            Arrays.sort(cpuRatio);
            double best =
                    first.stream().mapToDouble(Contender.Turn::wallMillis).min().orElse(Double.NaN);
            System.out.printf(
                    Locale.ROOT,
                    "%-24s %12.1f %10.1f %10.1f   %.2f  %.2f  %.2f%n",
                    contender.name(),
                    wall[rounds / 2],
                    wall[0],
                    cpu[rounds / 2],
                    ratio[rounds / 2],
                    wall[0] / best,
                    cpuRatio[rounds / 2]);
        });
    }

    /** Threads of the last contender that wait awake for more work go to sleep meanwhile. */
    private static void pause() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

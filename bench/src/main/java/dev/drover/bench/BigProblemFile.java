package dev.drover.bench;

import dev.drover.solver.ContestFile;
import dev.drover.solver.StrategyProblem;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Writes a problem file of a given size from a seed, reads it, and prints the seconds and the memory that it takes; the file is deleted.
 *
 * <p>Arguments: megabytes, seed, the share of edges whose matrix no other edge has (0 to 1), the file. Run with the heap to hold it to,
 * such as {@code -Xmx8g}.
 */
public final class BigProblemFile {
    private static final int STRATEGIES = 20;
    private static final int SHARED_MATRICES = 1000;

    private BigProblemFile() {}

    /**
     * Writes, reads, measures, deletes.
     *
     * @param args megabytes, seed, share, file
     * @throws IOException if the file cannot be written or read
     */
    public static void main(String[] args) throws IOException {
        if (args.length != 4) {
            System.err.println("Four arguments must be given: megabytes, seed, share of different matrices, file.\n"
                    + "Maybe 1300 1 0.2 /tmp/big.json");
            System.exit(2);
        }
        Path file = Path.of(args[3]);
        try {
            write(file, Long.parseLong(args[0]) * 1_000_000, Long.parseLong(args[1]), Double.parseDouble(args[2]));
            long start = System.nanoTime();
            StrategyProblem problem = ContestFile.read(file);
            double seconds = (System.nanoTime() - start) / 1e9;
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            System.out.printf(
                    Locale.ROOT,
                    "%.0f MB, %d nodes, %d edges: read in %.1f s (%.0f MB/s), %.2f GB live afterwards, heap of %.1f GB%n",
                    Files.size(file) / 1e6,
                    problem.nodeCount(),
                    problem.edgeCount(),
                    seconds,
                    Files.size(file) / 1e6 / seconds,
                    (runtime.totalMemory() - runtime.freeMemory()) / 1e9,
                    runtime.maxMemory() / 1e9);
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static void write(Path file, long bytes, long seed, double different) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        long bytesPerMatrix = STRATEGIES * STRATEGIES * 7L;
        int edges = (int) Math.max(1, bytes / bytesPerMatrix);
        int nodes = Math.max(2, edges * 2 / 3);
        byte[][] shared = new byte[SHARED_MATRICES][];
        for (int m = 0; m < shared.length; m++) {
            shared[m] = row(random, STRATEGIES * STRATEGIES);
        }
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 20)) {
            text(out, "{\"problem\": {\"name\": \"big\", \"nodes\": {\"intervals\": [");
            for (int i = 0; i < nodes; i++) {
                text(out, (i == 0 ? "" : ",") + "[" + i + "," + (i + random.nextInt(1, 200)) + "]");
            }
            for (String member : new String[] {"costs", "usages"}) {
                text(out, "], \"" + member + "\": [");
                for (int i = 0; i < nodes; i++) {
                    text(out, i == 0 ? "" : ",");
                    out.write(row(random, STRATEGIES));
                }
            }
            text(out, "]}, \"edges\": {\"nodes\": [");
            for (int e = 0; e < edges; e++) {
                int to = random.nextInt(1, nodes);
                text(out, (e == 0 ? "" : ",") + "[" + Math.max(0, to - random.nextInt(1, 50)) + "," + to + "]");
            }
            text(out, "], \"costs\": [");
            for (int e = 0; e < edges; e++) {
                text(out, e == 0 ? "" : ",");
                boolean own = random.nextDouble() < different;
                out.write(own ? row(random, STRATEGIES * STRATEGIES) : shared[random.nextInt(shared.length)]);
            }
            text(out, "]}, \"usage_limit\": 1000000000}}");
        }
    }

    private static byte[] row(SplittableRandom random, int count) {
        StringBuilder row = new StringBuilder("[");
        for (int i = 0; i < count; i++) {
            row.append(i == 0 ? "" : ",").append(random.nextInt(4) == 0 ? 0 : random.nextLong(10_000_000));
        }
        return row.append(']').toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static void text(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.US_ASCII));
    }
}

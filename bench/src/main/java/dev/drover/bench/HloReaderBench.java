package dev.drover.bench;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * How fast HLO text becomes a graph: {@code HloReaderBench FILE [COPIES]}. Prints MB/s for the file, and for one text with the entry's
 * instructions repeated COPIES times (default 8), so that it no longer fits into caches. Median of the last third of 30 rounds; the aim is
 * 50 MB/s and more. The second rate counts the CPU time of the reading thread only, for machines that are busy otherwise.
 */
public final class HloReaderBench {
    private static final int ROUNDS = 30;

    private HloReaderBench() {}

    public static void main(String[] args) {
        Path file = Path.of(args.length > 0 ? args[0] : "../shared/corpus/real/gpt_j_6b_train.hlo.gz");
        int copies = args.length > 1 ? Integer.parseInt(args[1]) : 8;
        PrintStream out = System.out;
        byte[] text = HloReader.bytes(file);
        print(out, file.getFileName().toString(), text);
        print(out, copies + " computations of its size", repeated(text, copies));
    }

    private static void print(PrintStream out, String name, byte[] text) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        List<Double> rates = new ArrayList<>();
        List<Double> cpuRates = new ArrayList<>();
        int instructions = 0;
        for (int round = 0; round < ROUNDS; round++) {
            long start = System.nanoTime();
            long cpuStart = threads.getCurrentThreadCpuTime();
            instructions = HloReader.read(name, text).computations().stream()
                    .mapToInt(c -> c.size())
                    .sum();
            double seconds = (System.nanoTime() - start) / 1e9;
            if (round >= ROUNDS * 2 / 3) {
                rates.add(text.length / 1e6 / seconds);
                cpuRates.add(text.length * 1e3 / (threads.getCurrentThreadCpuTime() - cpuStart));
            }
        }
        rates.sort(null);
        cpuRates.sort(null);
        out.printf(
                Locale.ROOT,
                "%s: %.1f MB, %d instructions, %.0f MB/s, %.0f MB per second of CPU%n",
                name,
                text.length / 1e6,
                instructions,
                rates.get(rates.size() / 2),
                cpuRates.get(cpuRates.size() / 2));
    }

    /** The entry several times under other names, and an entry that calls all of them. */
    private static byte[] repeated(byte[] text, int copies) {
        String whole = new String(text, StandardCharsets.UTF_8);
        Computation entry = HloReader.read("once", text).entry();
        int start = whole.lastIndexOf("\nENTRY ") + 1;
        String body = whole.substring(start + "ENTRY ".length());
        int nameEnd = body.indexOf(' ');
        StringBuilder all = new StringBuilder(whole.substring(0, start));
        StringBuilder calls = new StringBuilder("ENTRY all {\n");
        List<String> parameters = new ArrayList<>();
        for (Instruction parameter : entry.parameters()) {
            parameters.add("p" + parameters.size());
            calls.append("p" + (parameters.size() - 1) + " = " + parameter.shape() + " parameter("
                    + (parameters.size() - 1) + ")\n");
        }
        List<String> results = new ArrayList<>();
        for (int copy = 0; copy < copies; copy++) {
            String name = body.substring(0, nameEnd) + ".copy" + copy;
            all.append(name).append(body.substring(nameEnd)).append('\n');
            results.add("c" + copy);
            calls.append("c" + copy + " = " + entry.root().shape() + " call(" + String.join(", ", parameters)
                    + "), to_apply=" + name + "\n");
        }
        String shape = entry.root().shape().toString();
        calls.append("ROOT r = (" + String.join(", ", Collections.nCopies(copies, shape)) + ") tuple("
                + String.join(", ", results) + ")\n}\n");
        return all.append(calls).toString().getBytes(StandardCharsets.UTF_8);
    }
}

package dev.drover.plan.stage;

import dev.drover.ir.graph.Instruction;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Where a step mixes samples, so that micro-batches cannot go through it one by one.
 *
 * @param at the instruction
 * @param reason a sentence without its full stop
 */
record TimeConflict(Instruction at, String reason) {
    /** Instructions that are looked at for annotations, the nearest first. */
    private static final int MOST_SEEN = 50;

    private static final Pattern OP_NAME = Pattern.compile("op_name=\"([^\"]*)\"");
    private static final Pattern SOURCE_FILE = Pattern.compile("source_file=\"([^\"]*)\"");
    private static final Pattern SOURCE_LINE = Pattern.compile("source_line=(\\d+)");

    /** What the conflict is about in the model's own words, and where it is written, where annotations tell. */
    private String where() {
        Deque<Instruction> queue = new ArrayDeque<>(List.of(at));
        for (int seen = 0; seen < MOST_SEEN && !queue.isEmpty(); seen++) {
            Instruction next = queue.removeFirst();
            String metadata = next.annotations().getOrDefault("metadata", "");
            String file = entry(SOURCE_FILE, metadata);
            String line = entry(SOURCE_LINE, metadata);
            List<String> told = Stream.of(entry(OP_NAME, metadata), file + (line.isEmpty() ? "" : ":" + line))
                    .filter(text -> !text.isEmpty())
                    .toList();
            if (!told.isEmpty()) {
                return " [" + String.join(", ", told) + "]";
            }
            queue.addAll(next.operands());
        }
        return "";
    }

    private static String entry(Pattern pattern, String metadata) {
        Matcher matcher = pattern.matcher(metadata);
        return matcher.find() ? matcher.group(1) : "";
    }

    /**
     * For people.
     *
     * @param more how many other instructions mix samples
     */
    String text(int more) {
        return "The op (" + at.op().opcode() + ") of instruction (" + at.name() + ")" + where()
                + " must not mix samples of different micro-batches: " + reason
                + (more == 0
                        ? "."
                        : "; " + more + (more == 1 ? " more instruction mixes" : " more instructions mix") + " them.");
    }
}

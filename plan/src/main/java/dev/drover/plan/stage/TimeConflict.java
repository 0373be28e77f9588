package dev.drover.plan.stage;

import dev.drover.ir.graph.Instruction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Where a step mixes samples, so that micro-batches cannot go through it one by one.
 *
 * @param at the instruction
 * @param reason a sentence without its full stop
 */
record TimeConflict(Instruction at, String reason) {
    private static final int NAMED = 3;

    /** What the conflict is about in the model's own words, where annotations tell. */
    String where() {
        Set<String> names = new LinkedHashSet<>();
        Deque<Instruction> queue = new ArrayDeque<>(List.of(at));
        List<Instruction> seen = new ArrayList<>();
        while (!queue.isEmpty() && names.size() < NAMED && seen.size() < 50) {
            Instruction next = queue.removeFirst();
            seen.add(next);
            String metadata = next.annotations().get("metadata");
            int from = metadata == null ? -1 : metadata.indexOf("op_name=\"");
            if (metadata != null && from >= 0) {
                int start = from + "op_name=\"".length();
                int end = metadata.indexOf('"', start);
                if (end > start) {
                    names.add(metadata.substring(start, end));
                }
                break;
            }
            queue.addAll(next.operands());
        }
        return names.isEmpty() ? "" : " [" + String.join(", ", names) + "]";
    }

    String text() {
        return "The op (" + at.op().opcode() + ") of instruction (" + at.name() + ")" + where()
                + " must not mix samples of different micro-batches: " + reason + ".";
    }
}

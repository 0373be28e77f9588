package dev.drover.plan.schedule;

import dev.drover.ir.UserError;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * In which order each stage works on the micro-batches. Printed as one line per stage, actions apart by blanks; read from that
 * or from a CSV file (commas). 1F1B of two stages and three micro-batches:
 *
 * <pre>
 * F0 F1 B0 F2 B1 B2
 * F0 B0 F1 B1 F2 B2
 * </pre>
 */
public record Schedule(int microBatches, List<List<Action>> actionsByStage) {

    /**
     * Checks the contract: each (stage, micro-batch) has one forward and one backward, the forward first, and the lists together
     * with the order of the stages have no cycle.
     */
    public Schedule {
        actionsByStage = actionsByStage.stream().map(List::copyOf).toList();
        if (actionsByStage.isEmpty() || microBatches < 1) {
            throw new UserError("The stages (" + actionsByStage.size() + ") and micro-batches (" + microBatches
                    + ") of a schedule must be at least 1.");
        }
        for (int stage = 0; stage < actionsByStage.size(); stage++) {
            checkStage(stage, actionsByStage.get(stage), microBatches);
        }
        checkNoCycle(actionsByStage);
    }

    public int stages() {
        return actionsByStage.size();
    }

    public List<Action> stage(int stage) {
        return actionsByStage.get(stage);
    }

    /** The largest number of micro-batches that have gone forward but not yet backward on a stage. */
    public int maxInFlight(int stage) {
        int inFlight = 0;
        int max = 0;
        for (Action action : stage(stage)) {
            inFlight += action.forward() ? 1 : -1;
            max = Math.max(max, inFlight);
        }
        return max;
    }

    private static void checkStage(int stage, List<Action> actions, int microBatches) {
        int[] state = new int[microBatches];
        for (Action action : actions) {
            int m = action.microBatch();
            if (m >= microBatches || state[m] != (action.forward() ? 0 : 1)) {
                throw new UserError("The action (" + action + ") of stage (" + stage + ") must "
                        + (m >= microBatches
                                ? "be of one of the " + microBatches + " micro-batches."
                                : action.forward()
                                        ? "occur once, before B" + m + "."
                                        : "occur once, after F" + m + "."));
            }
            state[m]++;
        }
        for (int m = 0; m < microBatches; m++) {
            if (state[m] != 2) {
                throw new UserError("The schedule (" + text(actions) + ") of stage (" + stage + ") must contain "
                        + (state[m] == 0 ? "F" : "B") + m + ".");
            }
        }
    }

    private static void checkNoCycle(List<List<Action>> byStage) {
        int last = byStage.size() - 1;
        int[] next = new int[byStage.size()];
        java.util.Set<String> done = new java.util.HashSet<>();
        int remaining = byStage.stream().mapToInt(List::size).sum();
        while (remaining > 0) {
            int before = remaining;
            for (int s = 0; s <= last; s++) {
                while (next[s] < byStage.get(s).size()) {
                    Action action = byStage.get(s).get(next[s]);
                    boolean ready = action.forward()
                            ? s == 0 || done.contains(action + "@" + (s - 1))
                            : s == last || done.contains(action + "@" + (s + 1));
                    if (!ready) {
                        break;
                    }
                    done.add(action + "@" + s);
                    next[s]++;
                    remaining--;
                }
            }
            if (remaining == before) {
                List<String> stuck = new ArrayList<>();
                for (int s = 0; s <= last; s++) {
                    if (next[s] < byStage.get(s).size()) {
                        stuck.add("stage " + s + " at " + byStage.get(s).get(next[s]));
                    }
                }
                throw new UserError("The schedule must have no cycle, but these wait for each other: "
                        + String.join(", ", stuck) + ".");
            }
        }
    }

    /** Reads lines of actions, apart by blanks or commas; empty lines and lines that start with # are left out. */
    public static Schedule parse(String text) {
        List<List<Action>> byStage = new ArrayList<>();
        int microBatches = 0;
        for (String line : text.split("\n", -1)) {
            String trimmed = line.strip();
            if (trimmed.isEmpty() || trimmed.startsWith("#")) {
                continue;
            }
            List<Action> actions = new ArrayList<>();
            for (String word : trimmed.split("[,\\s]+", -1)) {
                if (word.isEmpty()) {
                    continue;
                }
                Action action = Action.parse(word);
                if (action == null) {
                    throw new UserError(
                            "The action (" + word + ") of stage (" + byStage.size()
                                    + ") must be F or B and a micro-batch's number.",
                            "Maybe write F0 F1 B0 ..");
                }
                microBatches = Math.max(microBatches, action.microBatch() + 1);
                actions.add(action);
            }
            byStage.add(actions);
        }
        return new Schedule(microBatches, byStage);
    }

    private static String text(List<Action> actions) {
        return actions.stream().map(Action::toString).collect(Collectors.joining(" "));
    }

    /** The lines, one per stage; {@link #parse} reads them back. */
    public String text() {
        return actionsByStage.stream().map(Schedule::text).collect(Collectors.joining("\n", "", "\n"));
    }

    /** As {@link #text}, with commas. */
    public String csv() {
        return text().replace(' ', ',');
    }

    @Override
    public String toString() {
        return text();
    }
}

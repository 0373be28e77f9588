package dev.drover.plan.schedule;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** One forward or backward pass of one micro-batch through one stage, printed {@code F3} or {@code B3}. */
public record Action(boolean forward, int microBatch) {
    private static final Pattern TEXT = Pattern.compile("([FB])(\\d{1,9})");

    public static Action forward(int microBatch) {
        return new Action(true, microBatch);
    }

    public static Action backward(int microBatch) {
        return new Action(false, microBatch);
    }

    /** The action of a text such as {@code F3}, or null. */
    static @Nullable Action parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        return matcher.matches() ? new Action(matcher.group(1).equals("F"), Integer.parseInt(matcher.group(2))) : null;
    }

    @Override
    public String toString() {
        return (forward ? "F" : "B") + microBatch;
    }
}

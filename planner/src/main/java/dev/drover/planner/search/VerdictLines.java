package dev.drover.planner.search;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tells verdicts as they are given. Those that follow each other and give the same reason share a line if their layouts differ in the
 * micro-batches only, or in the mesh only:
 *
 * <pre>
 *   [4-6/25] 1 stage x mesh 2x4, 2, 4 or 8 micro-batches, 1f1b: cannot be faster: ..
 * </pre>
 *
 * A line that could be shared waits for the next verdict, or for {@link #flush}.
 */
final class VerdictLines {
    private final SearchListener listener;
    private final int layouts;
    private final List<Layout> waiting = new ArrayList<>();
    private String said = "";
    private int told;

    /** Of a search among so many layouts. */
    VerdictLines(SearchListener listener, int layouts) {
        this.listener = listener;
        this.layouts = layouts;
    }

    /** Of a layout that was simulated: a line of its own. */
    void simulated(Layout layout, String words) {
        flush();
        waiting.add(layout);
        said = words;
        flush();
    }

    /** Of one that was not. */
    void left(Layout layout, String reason) {
        if (!waiting.isEmpty() && !(said.equals(reason) && differsInOneThing(layout))) {
            flush();
        }
        waiting.add(layout);
        said = reason;
    }

    private boolean differsInOneThing(Layout layout) {
        Layout first = waiting.get(0);
        return layout.stages() == first.stages()
                && layout.schedule().equals(first.schedule())
                && (isSame(layout, Layout::mesh) || isSame(layout, Layout::microBatches));
    }

    private boolean isSame(Layout layout, Function<Layout, Object> part) {
        return waiting.stream().allMatch(other -> part.apply(other).equals(part.apply(layout)));
    }

    /** Tells what waits; before anything that takes long. */
    void flush() {
        if (waiting.isEmpty()) {
            return;
        }
        Layout first = waiting.get(0);
        int before = told;
        told += waiting.size();
        String number = (waiting.size() == 1 ? "" : before + 1 + "-") + told + "/" + layouts;
        String layout = first.text(list(Layout::mesh), list(Layout::microBatches));
        listener.progress("[" + number + "] " + layout + ": " + said);
        waiting.clear();
    }

    private String list(Function<Layout, Object> part) {
        Stream<String> texts = waiting.stream().map(layout -> String.valueOf(part.apply(layout)));
        String all = texts.distinct().collect(Collectors.joining(", "));
        int last = all.lastIndexOf(", ");
        return last < 0 ? all : all.substring(0, last) + " or " + all.substring(last + 2);
    }
}

package dev.drover.planner.search;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.lower.Fingerprint;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.text.Plan;
import dev.drover.plan.text.StrategyText;
import dev.drover.planner.search.LayoutJudge.Prospect;
import dev.drover.planner.search.Verdict.Judged;
import dev.drover.planner.search.Verdict.Refused;
import dev.drover.planner.search.Verdict.Slower;
import dev.drover.solver.Solution;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the whole plan: every {@link Layout} (stages x mesh x micro-batches) is cut along time and depth, sharded by the strategy
 * solver under the memory limit, lowered, and judged by the simulator; the fastest that fits is kept (Rhino, strategy exploration). Those
 * with the least bounds come first, and what cannot win is left out, with the reason ({@link LayoutJudge}). What depends on one layout
 * alone is done ahead by other threads ({@link Ahead}); verdicts are given one after the other, so that threads change no plan.
 */
public final class PlanSearch {
    private static final Comparator<Judged> FASTEST =
            Comparator.comparingLong(Judged::stepNanos).thenComparingLong(Judged::peakBytes);

    private final TrainingStep step;
    private final String source;
    private final Cluster cluster;
    private final SearchOptions options;
    private final SearchListener listener;
    private final long startNanos = System.nanoTime();
    private final LayoutJudge judge;
    private final List<Judged> judged = new ArrayList<>();
    private final List<Slower> slower = new ArrayList<>();
    private final List<Refused> refused = new ArrayList<>();
    /** The least bound first: what is judged soon bounds the others. */
    private final TreeSet<Entry> entries = new TreeSet<>(
            Comparator.comparingDouble((Entry entry) -> entry.prospect().leastNanos())
                    .thenComparingInt(Entry::place));

    private final Map<Integer, Ahead.Task<Prospect>> prospectByPlace = new TreeMap<>();
    private final Map<Integer, Ahead.Task<Found>> fastestByPlace = new HashMap<>();
    private final Ahead ahead;
    private List<Layout> ordered = List.of();
    private VerdictLines lines;
    private boolean cutShort;
    private @Nullable Judged best;

    private PlanSearch(
            TrainingStep step,
            String source,
            Cluster cluster,
            DeviceMemory memory,
            SearchOptions options,
            SearchListener listener,
            Ahead ahead) {
        this.step = step;
        this.source = source;
        this.cluster = cluster;
        this.options = options;
        this.listener = listener;
        this.lines = new VerdictLines(listener, 0);
        this.ahead = ahead;
        this.judge = new LayoutJudge(step, cluster, memory, options.seed(), this::secondsLeft);
    }

    /**
     * The best plan found.
     *
     * @param flat the flat training step
     * @param source what the model was read from, for the plan's record
     * @param memory of the devices' backend
     * @throws UserError if no layout is possible or none fits the memory
     */
    public static Planned search(
            TrainingStep flat,
            String source,
            Cluster cluster,
            DeviceMemory memory,
            SearchOptions options,
            SearchListener listener) {
        try (Ahead ahead = new Ahead()) {
            return new PlanSearch(flat, source, cluster, memory, options, listener, ahead).run();
        }
    }

    /** A layout that is to be judged, and its place in the order of the estimates. */
    private record Entry(Prospect.Open prospect, int place) {}

    private Planned run() {
        List<Layout> layouts = Layouts.of(cluster.devices(), TimeCut.batchSize(step), options);
        judge.checkState();
        ordered = LayoutOrder.mostPromisingFirst(layouts, step, cluster);
        lines = new VerdictLines(listener, ordered.size());
        for (int place = 0; place < ordered.size(); place++) {
            if (before(ordered.get(place), place) == null) {
                Layout layout = ordered.get(place);
                prospectByPlace.put(place, ahead.of(() -> judge.prospect(layout)));
            }
        }
        judge.checkCuts(ordered);
        for (int place : List.copyOf(prospectByPlace.keySet())) {
            if (secondsLeft() > 0 || entries.isEmpty()) {
                open(place);
            }
        }
        while (!entries.isEmpty() && (secondsLeft() > 0 || best == null)) {
            Entry entry = entries.first();
            keep(judged(entry));
            entries.remove(entry);
            fastestByPlace.remove(entry.place());
            openNext(entry.place());
        }
        lines.flush();
        cutShort = secondsLeft() <= 0;
        refused.addAll(notTried());
        if (cutShort) {
            listener.progress(String.format(
                    Locale.ROOT,
                    "the time (%.0f s) was up: another run may find another plan. Maybe give a longer --timeout.",
                    options.timeoutSeconds()));
        }
        Judged winner = best;
        if (winner == null) {
            throw nothingFits();
        }
        return new Planned(plan(winner), winner.execution(), winner.simulated());
    }

    /** What the time did not suffice for. */
    private List<Refused> notTried() {
        Set<Layout> tried = Stream.of(judged, slower, refused)
                .flatMap(List::stream)
                .map(Verdict::layout)
                .collect(Collectors.toSet());
        return ordered.stream()
                .filter(layout -> !tried.contains(layout))
                .map(layout -> new Refused(layout, "not tried: the time was up", 0))
                .toList();
    }

    /** The shardings of an entry, while those of the next ones are searched by other threads. */
    private Verdict judged(Entry entry) {
        Slower no = LayoutJudge.slower(entry.prospect(), best);
        if (no != null) {
            return no;
        }
        lines.flush();
        int begun = 0;
        for (Entry next : entries) {
            if (begun++ <= Ahead.DEPTH && LayoutJudge.slower(next.prospect(), best) == null) {
                fastestByPlace.computeIfAbsent(
                        next.place(), place -> ahead.of(() -> new Found(judge.fastest(next.prospect()))));
            }
        }
        try {
            Ahead.Task<Found> task = fastestByPlace.get(entry.place());
            LayoutJudge.@Nullable Fastest fastest =
                    task == null ? judge.fastest(entry.prospect()) : task.get().fastest();
            return judge.judge(entry.prospect(), fastest, best);
        } catch (UserError e) {
            return refusal(entry.prospect().layout(), e);
        }
    }

    private record Found(LayoutJudge.@Nullable Fastest fastest) {}

    /**
     * The layout that this one comes after, because it gains nothing from more micro-batches but memory: the same in one stage with the
     * next fewer.
     */
    private @Nullable Layout before(Layout layout, int place) {
        Layout before = null;
        for (Layout other : ordered.subList(0, place)) {
            if (layout.stages() == 1 && other.stages() == 1 && other.mesh().equals(layout.mesh())) {
                before = other;
            }
        }
        return before;
    }

    /** Looks at a layout: it is refused, or waits to be judged. */
    private void open(int place) {
        Layout layout = ordered.get(place);
        try {
            Ahead.Task<Prospect> task = prospectByPlace.remove(place);
            if (task == null || !task.isDone()) {
                lines.flush();
            }
            Prospect prospect = task == null ? judge.prospect(layout) : task.get();
            if (prospect instanceof Prospect.Open open) {
                entries.add(new Entry(open, place));
                return;
            }
            keep(((Prospect.Hopeless) prospect).verdict());
        } catch (UserError e) {
            keep(refusal(layout, e));
        }
        openNext(place);
    }

    /** Goes on with what waited for a layout. */
    private void openNext(int place) {
        for (int next = place + 1; next < ordered.size(); next++) {
            Layout layout = ordered.get(next);
            if (ordered.get(place).equals(before(layout, next))) {
                String reason = needless(layout);
                if (reason == null) {
                    open(next);
                } else {
                    keep(new Refused(layout, reason, 0));
                    openNext(next);
                }
                return;
            }
        }
    }

    private double secondsLeft() {
        return options.timeoutSeconds() - (System.nanoTime() - startNanos) / 1e9;
    }

    private Refused refusal(Layout layout, UserError e) {
        if (ordered.size() == 1) {
            throw e;
        }
        String message = e.getMessage();
        String reason =
                message == null ? "refused" : message.lines().findFirst().orElse("refused");
        return new Refused(layout, reason, 0);
    }

    /**
     * Why a layout need not be tried: one stage gains nothing from more micro-batches but memory, so if that did not bind with fewer,
     * they only make ops smaller.
     */
    private @Nullable String needless(Layout layout) {
        for (Judged other : judged) {
            if (hasMore(layout, other.layout()) && !other.memoryBinds() && other.fits()) {
                return "cannot be faster: one stage gains nothing from more micro-batches where memory suffices with "
                        + other.layout().microBatches();
            }
        }
        for (Slower other : slower) {
            if (hasMore(layout, other.layout()) && !other.forMemory()) {
                return "cannot be faster: one stage gains nothing from more micro-batches, and is too slow with "
                        + other.layout().microBatches();
            }
        }
        return null;
    }

    private static boolean hasMore(Layout layout, Layout other) {
        return layout.stages() == 1
                && other.stages() == 1
                && other.mesh().equals(layout.mesh())
                && other.microBatches() < layout.microBatches();
    }

    /** Writes a verdict down, and says it in a few words. */
    private void keep(Verdict verdict) {
        if (verdict instanceof Refused no) {
            refused.add(no);
            lines.left(no.layout(), no.reason());
        } else if (verdict instanceof Slower no) {
            slower.add(no);
            lines.left(no.layout(), no.reason());
        } else {
            Judged now = (Judged) verdict;
            judged.add(now);
            if (now.fits() && (best == null || FASTEST.compare(now, best) < 0)) {
                best = now;
            }
            lines.simulated(
                    now.layout(),
                    String.format(
                            Locale.ROOT,
                            "step %.3f ms, memory %s%s",
                            now.stepNanos() / 1e6,
                            MemoryUse.text(now.peakBytes()),
                            now.fits() ? "" : " (too much)"));
        }
    }

    /** Whether the step can be cut in micro-batches: one with several got as far as its memory. */
    private boolean mayHaveMicroBatches() {
        return Stream.concat(
                        judged.stream().map(Judged::layout),
                        refused.stream().filter(no -> no.missingBytes() > 0).map(Refused::layout))
                .anyMatch(layout -> layout.microBatches() > 1);
    }

    private UserError nothingFits() {
        String advice = mayHaveMicroBatches()
                ? "Maybe use more devices, more micro-batches or a smaller batch."
                : "Maybe use more devices or a smaller batch.";
        int layouts = judged.size() + refused.size();
        String all = "The memory of cluster (" + cluster.name() + ") must suffice for "
                + (layouts == 1 ? "the only layout, " : "one of " + layouts + " layouts. The nearest, ");
        Refused small = refused.stream()
                .filter(r -> r.missingBytes() > 0)
                .min(Comparator.comparingLong(Refused::missingBytes))
                .orElse(null);
        Judged nearest =
                judged.stream().min(Comparator.comparingLong(Judged::peakBytes)).orElse(null);
        if (nearest != null) {
            return new UserError(
                    all + nearest.layout().text() + ": "
                            + String.join(" ", nearest.simulated().memoryProblems()),
                    advice);
        }
        if (small != null) {
            return new UserError(all + small.layout().text() + ": " + small.reason(), advice);
        }
        String reasons = String.join(
                "; ", refused.stream().map(Refused::reason).distinct().toList());
        return new UserError("The step must be possible in one of the layouts, but: " + reasons);
    }

    private Plan plan(Judged best) {
        List<Plan.Candidate> candidates = new ArrayList<>();
        judged.sort(Comparator.comparing(Judged::fits).reversed().thenComparing(FASTEST));
        for (Judged other : judged) {
            String rejected = "";
            if (!other.fits()) {
                rejected = String.join(" ", other.simulated().memoryProblems());
            } else if (!other.layout().equals(best.layout())) {
                rejected = notChosen(other.stepNanos(), other.peakBytes(), best.stepNanos(), best.peakBytes());
            }
            candidates.add(candidate(other.layout(), other.stepNanos(), other.peakBytes(), rejected));
        }
        slower.forEach(no -> candidates.add(candidate(no.layout(), 0, 0, no.reason())));
        refused.forEach(no -> candidates.add(candidate(no.layout(), 0, 0, no.reason())));
        Layout layout = best.layout();
        return new Plan(
                Plan.VERSION,
                new Plan.ModelId(
                        source,
                        Fingerprint.of(step.graph()),
                        step.graph().entry().size()),
                cluster,
                layout.stages(),
                layout.mesh(),
                layout.microBatches(),
                layout.schedule(),
                best.gatherPerPhase(),
                PlanCompiler.runs(best.assignment()),
                StrategyText.print(
                        best.cut().computation(), best.found().decisions().strategies(), layout.mesh()),
                prediction(best.simulated()),
                certificate(best.found().solution(), cutShort),
                candidates);
    }

    /** Why one that fits was not chosen. */
    static String notChosen(long nanos, long bytes, long bestNanos, long bestBytes) {
        if (nanos == bestNanos) {
            return bytes == bestBytes
                    ? "as good as the chosen one, but looked at later"
                    : "as fast as the chosen one, but takes more memory";
        }
        double percent = 100.0 * (nanos - bestNanos) / Math.max(1, bestNanos);
        return (percent < 0.05 ? "less than 0.1 %" : String.format(Locale.ROOT, "%.1f %%", percent))
                + " slower than the chosen one";
    }

    private static Plan.Candidate candidate(Layout layout, long stepNanos, long peakBytes, String rejected) {
        return new Plan.Candidate(
                layout.stages(),
                layout.mesh().toString(),
                layout.microBatches(),
                layout.schedule(),
                stepNanos,
                peakBytes,
                rejected);
    }

    private static Plan.@Nullable Certificate certificate(Solution solution, boolean cutShort) {
        return new Plan.Certificate(solution.objective(), solution.lowerBound(), solution.gap(), cutShort);
    }

    /** What a simulated step is expected to take, as plans write it. */
    public static Plan.Prediction prediction(SimulatedStep simulated) {
        List<Plan.DeviceMemory> memory = new ArrayList<>();
        for (MemoryUse use : simulated.memory()) {
            SortedMap<String, Long> parts = new TreeMap<>();
            use.peakBytesByKind().forEach((kind, bytes) -> parts.put(kind.key(), bytes));
            memory.add(
                    new Plan.DeviceMemory(use.rank(), simulated.stageByRank().get(use.rank()), use.peakBytes(), parts));
        }
        return new Plan.Prediction(
                Math.round(simulated.stepNanos()),
                Math.round(simulated.computeNanos()),
                Math.round(simulated.collectiveNanos()),
                Math.round(simulated.pointToPointNanos()),
                Math.round(simulated.bubbleNanos()),
                memory);
    }
}

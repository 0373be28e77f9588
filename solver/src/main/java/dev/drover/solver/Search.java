package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The parts in concert: the exact attempt first, then one thread that raises the bound and all that improve the choice.
 */
final class Search {
    /** Stack of the threads: the tree search is as deep as the variables are many. */
    private static final long STACK_BYTES = 1L << 28;

    /** Labels at first, and units of work after which no more are tried alone. */
    private static final int FIRST_WIDTH = 256;

    private static final long LABEL_WORK = 300_000_000;

    /** Numbers of a label at most: far from the optimum, and near it, where few labels are open. */
    private static final int FEW_NUMBERS = 32;

    private static final int MANY_NUMBERS = 256;

    /** Numbers of all variables' labels from which on they are left to the turns: a second or so for the narrowest. */
    private static final int MUCH = 100_000;

    /** Of the tree over all variables, where there are no labels: nodes far from the optimum and near it. */
    private static final int FEW_NODES = 20_000;

    private static final int MANY_NODES = 320_000;

    /** Part of the cost that is near, and part that is so far that the choice must get better before anything can be proven. */
    private static final double NEAR = 2e-3;

    private static final double FAR = 0.02;

    /** Steps to the best prices of a narrow core. */
    private static final int PRICE_STEPS = 200;

    /** Part of the values of a narrow core that must go for the rest to be begun anew. */
    private static final double WORTH_CUTTING = 0.1;

    /** Sweeps before which the prices are too bad for labels of a wide core. */
    private static final int SWEEPS_BEFORE_LABELS = 200;

    /** Work of the search for any choice: about a third of a second. */
    private static final long BACKTRACKING_WORK = 100_000_000;

    private Core core;
    private @Nullable DualBound dual;

    /** The best prices of a core narrow enough for elimination, else null. */
    private @Nullable TreeDual exact;

    private final Incumbent incumbent;
    private final SolveOptions options;
    private final Budget budget;
    private Guide guide;
    private Elites elites = new Elites();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile boolean infeasible;
    private volatile boolean finished;
    private volatile boolean memoryEnded;
    private volatile boolean roundOver;
    private boolean[][] keep = new boolean[0][];

    /** Prices of the few rows that bind, to begin with; empty if they are not known. */
    private double[] firstPrice = new double[0];

    /** Labels that prove what is left, in turns with the rest; null if the core is too wide for them. */
    private @Nullable Labels labels;

    /** How many of them to begin the turns with. */
    private int firstWidth = FIRST_WIDTH;

    /** Whether labels of many numbers were tried. */
    private boolean triedNear;

    /** Cost less bound when values were last looked for that can go. */
    private double gapAtCut = Double.POSITIVE_INFINITY;

    Search(Core core, Incumbent incumbent, SolveOptions options, Budget budget) {
        this.core = core;
        this.incumbent = incumbent;
        this.options = options;
        this.budget = budget;
        this.guide = new Guide(core);
    }

    boolean provenInfeasible() {
        return infeasible;
    }

    boolean memoryEnded() {
        return memoryEnded;
    }

    /** Why nothing is known, for the limit in the problem's own unit. */
    String explanation(long usageLimit) {
        String ended = "The " + (memoryEnded ? "memory" : "time")
                + " ended before a feasible choice was found, or a proof that there is none.";
        int[] nearest = guide.decoded();
        long[] usage = core.usage(nearest);
        int worst = core.fullest(usage);
        if (worst < 0 || usage[worst] <= core.limit[worst] || core.cost(nearest) == Double.POSITIVE_INFINITY) {
            return ended;
        }
        long excess = usage[worst] - core.limit[worst];
        return ended + " The nearest choice seen uses " + (usageLimit + excess) + " in the interval "
                + core.rowTime[worst] + ", above the usage limit " + usageLimit + " by " + excess + ".";
    }

    void run() {
        join(List.of(this::begin));
        for (int round = 0; !closed(); round++) {
            long seed = options.seed() * 31 + 1000L * round;
            List<Runnable> bodies = new ArrayList<>();
            bodies.add(() -> lead(seed));
            for (int t = 1; t < threads(); t++) {
                int id = t;
                bodies.add(() -> improve(seed + id));
            }
            join(bodies);
            if (!closed()) {
                cut();
            }
        }
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new IllegalStateException("A solver thread failed.", thrown);
        }
    }

    /** Runs each body in a thread of its own, and waits for all. */
    private void join(List<Runnable> bodies) {
        List<Thread> threads = new ArrayList<>();
        for (Runnable body : bodies) {
            Thread thread = new Thread(null, () -> guarded(body), "drover-solver-" + threads.size(), STACK_BYTES);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                    finished = true;
                    budget.cancel();
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void guarded(Runnable body) {
        try {
            body.run();
        } catch (Budget.Late e) {
            finished = true;
        } catch (OutOfMemoryError e) {
            // What was found so far is an answer.
            finished = true;
            memoryEnded = true;
        } catch (RuntimeException | Error e) {
            failure.compareAndSet(null, e);
            finished = true;
        }
    }

    /** One thread alone gives the same answer each time. */
    private int threads() {
        return budget.deterministic() ? 1 : options.threads();
    }

    private boolean over() {
        return finished || budget.over();
    }

    private boolean closed() {
        if (incumbent.closed(options.targetGap())) {
            finished = true;
        }
        return over();
    }

    /** What is better done alone: nothing to choose, or a core so narrow that elimination solves it. */
    private void begin() {
        if (core.size == 0) {
            incumbent.offer(new int[0], "reduction");
            incumbent.prove("reduction");
            return;
        }
        int[] first = FirstChoice.find(core, budget);
        if (first != null) {
            incumbent.offer(first, "first");
        } else {
            backtrack();
        }
        if (!closed()) {
            exactAttempt();
        }
    }

    /** Looks for any choice, or a proof that there is none, for a part of what is left. */
    private void backtrack() {
        Backtracking backtracking = new Backtracking(core, budget);
        switch (backtracking.search(Math.min(BACKTRACKING_WORK, budget.left() / 10))) {
            case CHOICE -> incumbent.offer(backtracking.choice(), "first");
            case NONE -> declareInfeasible();
            case UNKNOWN -> {}
        }
    }

    /** Thread 0: the bound, then as the others; ends the round when many values can go. */
    private void lead(long seed) {
        Neighbourhoods worker = worker(seed);
        Turns turns = new Turns();
        gapAtCut = incumbent.cost() - incumbent.bound();
        if (exact == null) {
            sweep(worker, turns);
        }
        while (!stopped() && worker != null) {
            double gap = incumbent.cost() - incumbent.bound();
            if (gap < 0.9 * gapAtCut && findCut()) {
                return;
            }
            TreeDual narrow = exact;
            if (narrow != null && labels == null && !triedNear && isNear()) {
                labels = labels(narrow);
            }
            if (threads() > 1 && turns.areLeft()) {
                // The other threads improve the choice meanwhile.
                turns.run();
            } else {
                worker.turn();
                turns.take();
            }
        }
    }

    /** Raises the bound of a wide core. */
    private void sweep(@Nullable Neighbourhoods worker, Turns turns) {
        DualBound bounding = dual == null ? new DualBound(core, budget) : dual;
        if (dual == null && firstPrice.length == core.rows) {
            bounding.moveTo(firstPrice);
        }
        dual = bounding;
        int sweeps = 0;
        int lastTry = 0;
        while (!stopped() && !(bounding.settled() && sweeps > 50)) {
            double bound = bounding.sweep();
            budget.spend(bounding.entriesPerSweep());
            incumbent.raise(bound, "prices");
            sweeps++;
            if (sweeps <= 8) {
                continue;
            }
            offerIfFits(bounding.decoded.clone(), "decoded");
            offerIfFits(bounding.decodedDown.clone(), "decoded");
            double cost = incumbent.cost();
            bounding.step(bound, cost);
            guide.set(bounding.bestPrice().clone(), bounding.decoded.clone());
            if (sweeps % 20 == 0) {
                guide.setLively(bounding.lively());
            }
            double gap = cost - incumbent.bound();
            if (sweeps > 2 * lastTry && sweeps - lastTry > 40 && !(gap > 0.8 * gapAtCut) && gap < 0.3 * cost) {
                lastTry = sweeps;
                if (findCut()) {
                    return;
                }
            }
            if (threads() == 1 && worker != null && sweeps % 50 == 0) {
                // Nobody else improves the choice meanwhile.
                worker.turn();
            }
            if (sweeps % 50 == 0 && sweeps >= SWEEPS_BEFORE_LABELS) {
                turns.take();
            }
        }
    }

    /** Labels in turns with the rest of the leading thread: no longer than all else together. */
    private final class Turns {
        private final long begin = budget.now();
        private long mine;
        private int width = firstWidth;
        private double gapAtWidest = Double.POSITIVE_INFINITY;

        /** Whether wider labels than before can be tried. */
        boolean areLeft() {
            return labels != null && width <= labels.mostWidth();
        }

        void take() {
            double gap = incumbent.cost() - incumbent.bound();
            if (2 * mine <= budget.now() - begin && (areLeft() || gap < 0.8 * gapAtWidest)) {
                run();
            }
        }

        private void run() {
            Labels search = labels;
            if (search == null || stopped()) {
                return;
            }
            long now = budget.now();
            int most = search.mostWidth();
            int[] better = label(search, prices(), Math.min(width, most));
            if (width >= most) {
                gapAtWidest = incumbent.cost() - incumbent.bound();
                width = most + 1;
            } else if (better == null) {
                width = Math.min(most, 4 * width);
            }
            mine += budget.now() - now;
        }
    }

    /** The best prices known. */
    private double[] prices() {
        TreeDual narrow = exact;
        DualBound bounding = dual;
        return narrow != null ? narrow.bestPrice() : bounding != null ? bounding.bestPrice() : guide.prices();
    }

    /** Whether so many values can go that the others should stop for it. */
    private boolean findCut() {
        gapAtCut = incumbent.cost() - incumbent.bound();
        int[] best = incumbent.best();
        // Read after the choice: its cost, or that of a better one.
        double cost = incumbent.cost();
        TreeDual narrow = exact;
        DualBound bounding = dual;
        if (best == null || options.without().contains(Technique.CUTS)) {
            return false;
        }
        boolean[][] worth;
        if (narrow != null) {
            worth = narrow.worthKeeping(cost, best);
        } else if (bounding != null) {
            worth = bounding.worthKeeping(cost, best);
            budget.spend(7 * bounding.entriesPerSweep());
        } else {
            return false;
        }
        int open = 0;
        int kept = 0;
        int closed = 0;
        for (boolean[] row : worth) {
            int here = 0;
            for (boolean k : row) {
                here += k ? 1 : 0;
            }
            open += row.length > 1 ? row.length : 0;
            kept += row.length > 1 ? here : 0;
            closed += here == 1 ? 1 : 0;
        }
        if (closed == worth.length) {
            // A cheaper choice would have another value somewhere.
            incumbent.prove("cuts");
            return false;
        }
        if (kept > (1 - WORTH_CUTTING) * open) {
            return false;
        }
        keep = worth;
        roundOver = true;
        return true;
    }

    /** Between rounds, alone: leaves out the values that can go. */
    private void cut() {
        boolean[][] worth = keep;
        keep = new boolean[0][];
        roundOver = false;
        if (worth.length == 0) {
            return;
        }
        // The best choice may have got better meanwhile.
        int[] best = incumbent.best();
        for (int v = 0; v < worth.length && best != null; v++) {
            worth[v][best[v]] = true;
        }
        core = core.restrict(worth);
        incumbent.moveTo(core, worth);
        double[] price = prices().clone();
        DualBound bounding = dual;
        dual = bounding == null || exact != null ? null : new DualBound(core, bounding, worth);
        firstPrice = price;
        guide = new Guide(core);
        elites = new Elites();
        guide.set(price, dual == null ? new int[core.size] : dual.decoded.clone());
        join(List.of(this::exactAttempt));
    }

    private boolean stopped() {
        return closed() || roundOver;
    }

    private void offerIfFits(int[] x, String phase) {
        if (core.cost(x) < incumbent.cost() && core.fits(x)) {
            incumbent.offer(x, phase);
        }
    }

    /**
     * Solves a narrow core outright: prices, values that can go, a tree over all variables, labels; alone and so the same each time. Of a
     * wide core it looks for the few rows that bind.
     */
    private void exactAttempt() {
        labels = null;
        exact = null;
        firstWidth = FIRST_WIDTH;
        boolean labelling = !options.without().contains(Technique.LABELS) && core.rows > 0;
        Elimination plan = Elimination.whole(core, 1 << 20, 1 << 23, new SplittableRandom(options.seed()), budget);
        if (plan == null) {
            budget.spend(100L * core.size);
            if (dual == null && labelling && !options.without().contains(Technique.FEW_ROWS)) {
                FewRows few = new FewRows(core, incumbent, options, budget);
                few.run();
                if (closed()) {
                    return;
                }
                firstPrice = few.prices();
            }
            labels = labelling ? Labels.ofWide(core, options.seed(), budget) : null;
            return;
        }
        budget.spend(plan.entries());
        TreeDual narrow = new TreeDual(core, plan, guide.prices(), budget);
        exact = narrow;
        raise(narrow);
        if (closed() || findCut()) {
            return;
        }
        Labels search = labelling ? labels(narrow) : null;
        if (search != null && search.numbersOfAll() > MUCH) {
            labels = search;
            return;
        }
        if (search != null) {
            label(search, narrow.bestPrice(), FIRST_WIDTH);
        }
        boolean far = !isWithin(FAR);
        descend(plan, narrow.bestPrice(), far ? FEW_NODES : search != null ? 0 : isNear() ? MANY_NODES : FEW_NODES);
        if (search != null && !closed() && !findCut()) {
            if (!far) {
                widen(search, narrow.bestPrice());
            }
            labels = search;
        }
    }

    /** Whether the bound is so near to the cost, as a part of it. */
    private boolean isWithin(double part) {
        return incumbent.cost() - incumbent.bound() <= part * incumbent.cost();
    }

    private boolean isNear() {
        return isWithin(NEAR);
    }

    /** Labels of a narrow core; null if it would have too many numbers yet. */
    private @Nullable Labels labels(TreeDual narrow) {
        triedNear = isNear();
        boolean dominating = !options.without().contains(Technique.DOMINANCE);
        int most = triedNear ? MANY_NUMBERS : FEW_NUMBERS;
        return Labels.ofNarrow(core, narrow.bestPrice(), dominating, options.seed(), most, budget);
    }

    /** Finds the best prices of a narrow core. */
    private void raise(TreeDual narrow) {
        for (int step = 0; step < PRICE_STEPS && core.rows > 0 && !narrow.settled() && !closed(); step++) {
            incumbent.raise(narrow.step(), "prices");
            offerIfFits(narrow.decoded().clone(), "decoded");
        }
        guide.set(narrow.bestPrice().clone(), narrow.decoded().clone());
    }

    /** Searches the tree of all values of a narrow core, so many nodes of it. */
    private void descend(Elimination plan, double[] price, int nodes) {
        int[] known = incumbent.best();
        int[] x = known == null ? new int[core.size] : known;
        LocalSearch local = new LocalSearch(core, budget, this::over);
        local.search(plan, x, core.usage(x), price, 1, nodes);
        if (core.fits(x) && core.cost(x) < Double.POSITIVE_INFINITY) {
            incumbent.offer(x, "elimination");
        }
        if (!local.complete()) {
            incumbent.raise(core.constant + local.bound(), "elimination");
        } else if (incumbent.best() == null) {
            declareInfeasible();
        } else {
            incumbent.prove("elimination");
        }
    }

    /** More and more labels, as many as are made in a second or two; the turns go on with more. */
    private void widen(Labels search, double[] price) {
        long begin = budget.spent();
        while (!closed() && firstWidth <= search.mostWidth() && budget.spent() - begin < LABEL_WORK) {
            label(search, price, firstWidth);
            firstWidth *= 4;
        }
    }

    /** Labels of one width; returns a choice cheaper than the best, null if there is none. */
    private int @Nullable [] label(Labels search, double[] price, int width) {
        double bound = search.search(price, incumbent.cost(), width);
        int[] best = search.best();
        if (best != null) {
            incumbent.offer(best, "labels");
        }
        if (bound == Double.POSITIVE_INFINITY) {
            declareInfeasible();
        } else if (search.complete()) {
            incumbent.prove(bound, "labels");
        } else {
            incumbent.raise(bound, "labels");
        }
        return best;
    }

    private void declareInfeasible() {
        infeasible = true;
        finished = true;
    }

    /** Improves the best choice by neighbourhoods until the end of the round. */
    private void improve(long seed) {
        Neighbourhoods worker = worker(seed);
        while (!stopped() && worker != null) {
            worker.turn();
        }
    }

    private @Nullable Neighbourhoods worker(long seed) {
        return options.without().contains(Technique.NEIGHBOURHOODS)
                ? null
                : new Neighbourhoods(
                        core, incumbent, elites, guide, options, budget, this::stopped, new SplittableRandom(seed));
    }
}

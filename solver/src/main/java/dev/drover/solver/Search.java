package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.ArrayList;
import java.util.Arrays;
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

    private final Core core;
    private final Incumbent incumbent;
    private final SolveOptions options;
    private final long endNanos;
    private final Guide guide;
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile boolean infeasible;
    private volatile boolean finished;

    Search(Core core, Incumbent incumbent, SolveOptions options, long endNanos) {
        this.core = core;
        this.incumbent = incumbent;
        this.options = options;
        this.endNanos = endNanos;
        this.guide = new Guide(core);
    }

    boolean provenInfeasible() {
        return infeasible;
    }

    String explanation() {
        long[] usage = core.usage(guide.decoded());
        int worst = -1;
        for (int r = 0; r < core.rows; r++) {
            if (worst < 0 || usage[r] - core.limit[r] > usage[worst] - core.limit[worst]) {
                worst = r;
            }
        }
        String where = worst < 0 || usage[worst] <= core.limit[worst]
                ? ""
                : " The nearest choice seen is above the usage limit at time " + core.rowTime[worst] + " by "
                        + (usage[worst] - core.limit[worst]) + ".";
        return (infeasible
                        ? "Every choice without forbidden pairs is above the usage limit at some time."
                        : "No feasible choice was found in time.")
                + where;
    }

    void run() {
        join(List.of(this::begin));
        if (!closed()) {
            List<Runnable> bodies = new ArrayList<>();
            bodies.add(this::lead);
            for (int t = 1; t < options.threads(); t++) {
                int id = t;
                bodies.add(() -> improve(id));
            }
            join(bodies);
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
        } catch (RuntimeException | Error e) {
            failure.compareAndSet(null, e);
            finished = true;
        }
    }

    private boolean over() {
        return finished || System.nanoTime() - endNanos >= 0;
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
        exactAttempt();
    }

    /** Thread 0: the bound, then as the others. */
    private void lead() {
        DualBound dual = new DualBound(core);
        int sweeps = 0;
        while (!closed() && !(dual.settled() && sweeps > 50)) {
            double bound = dual.sweep();
            incumbent.raise(bound, "prices");
            sweeps++;
            if (sweeps <= 8) {
                continue;
            }
            offerIfFits(dual.decoded.clone(), "decoded");
            double cost = incumbent.cost();
            double target = cost == Double.POSITIVE_INFINITY ? dual.best() + 0.3 * Math.abs(dual.best()) : cost;
            dual.step(bound, target);
            guide.set(dual.bestPrice().clone(), dual.decoded.clone());
        }
        if (!closed()) {
            improve(0);
        }
    }

    private void offerIfFits(int[] x, String phase) {
        if (core.cost(x) < incumbent.cost() && core.fits(x)) {
            incumbent.offer(x, phase);
        }
    }

    /** Solves a narrow core outright: prices and tree over all variables, alone and so the same each time. */
    private void exactAttempt() {
        int[] all = new int[core.size];
        Arrays.setAll(all, v -> v);
        Elimination plan = Elimination.plan(core, all, 1 << 20, 1 << 23, new SplittableRandom(options.seed()));
        if (!plan.frees(core.size)) {
            return;
        }
        LocalSearch local = new LocalSearch(core, this::over);
        int[] x = new int[core.size];
        double[] start = new double[core.rows];
        for (int round = 0; round < 3 && !over(); round++) {
            long[] usage = core.usage(x);
            local.search(plan, x, usage, start, 60 << round, 20_000 << (4 * round));
            if (core.fits(x) && core.cost(x) < Double.POSITIVE_INFINITY) {
                incumbent.offer(x, "elimination");
            }
            if (local.complete() && incumbent.best() == null) {
                infeasible = true;
                finished = true;
                guide.set(start, x);
                return;
            }
            if (local.complete()) {
                incumbent.prove("elimination");
            } else {
                incumbent.raise(core.constant + local.bound(), "elimination");
            }
            if (closed()) {
                return;
            }
        }
    }

    /** Improves the best choice by neighbourhoods until the end. */
    private void improve(int id) {
        SplittableRandom random = new SplittableRandom(options.seed() * 31 + id);
        if (options.without().contains(Technique.NEIGHBOURHOODS)) {
            return;
        }
        new Neighbourhoods(core, incumbent, guide, options, this::closed, random, id).run();
    }
}

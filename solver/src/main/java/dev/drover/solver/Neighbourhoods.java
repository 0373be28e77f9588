package dev.drover.solver;

import dev.drover.solver.LocalSearch.Outcome;
import dev.drover.solver.SolveOptions.Technique;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Improves a choice by freeing one neighbourhood after the other and solving each under the true limits.
 *
 * <pre>
 *   start     the choice that the prices suggest, repaired: neighbourhoods around overfull rows until all rows fit
 *   improve   neighbourhoods of 8 .. all variables around random ones, or around one full row; half of the work goes
 *             to the size that gained most for its work lately, half to all sizes alike
 *   restart   when the bound has risen much since: repair the newest suggestion, keep it if it beats the best
 *   kick      when all this gains nothing: values of some region are drawn at random, cheap ones rather than dear ones,
 *             the region is improved, and what is better there is crossed into the best
 *   anew      when kicks gain nothing either: all values are drawn with much noise, improved and crossed
 *   cross     of a few choices the best {@link Mixture}
 * </pre>
 */
final class Neighbourhoods {
    private static final int[] SIZES = {8, 16, 32, 64, 128, 256, 512, 1024, 4096, 1 << 20};

    /** Turns without gain after which the kicks begin. */
    private static final int PATIENCE = 2;

    /** Turns without gain after which all is drawn anew now and then: kicks lead back to the same choice. */
    private static final int LONG_PATIENCE = 20;

    /** Variables drawn at once then. */
    private static final int DRAWN = 128;

    /** Part of the cost above which a gap is wide: then what is decoded is mixed in at each turn, and turns are short. */
    private static final double WIDE = 0.03;

    /** Vain crossings with it after which that is over. */
    private static final int VAIN = 4;

    /** What is improved is left when others have got so much further meanwhile: times the best cost when it began. */
    private static final double OVERTAKEN = 0.97;

    /** Times the best cost that a choice may cost to be crossed with others. */
    private static final double CROSSABLE = 1.002;

    private static final double CROSSABLE_LATE = 1.2;

    private final Core core;
    private final Incumbent incumbent;
    private final Elites elites;
    private final Guide guide;
    private final Budget budget;
    private final BooleanSupplier stop;
    private final SplittableRandom random;
    private final FreeSets sets;
    private final LocalSearch local;
    private final int nodes;
    private final boolean kicks;
    private final boolean crossing;
    private final int sizes;
    /** What each size gained and how much work it took, both forgotten slowly. */
    private final double[] gained;

    private final double[] spent;
    /** Work of each size since the beginning, over its share. */
    private final double[] turnOf;

    private int[] x;
    private long[] usage;
    private double boundAtRestart;
    private int idle;
    /** Crossings with what is decoded that gained nothing, since the last one that did. */
    private int vain;

    Neighbourhoods(
            Core core,
            Incumbent incumbent,
            Elites elites,
            Guide guide,
            SolveOptions options,
            Budget budget,
            BooleanSupplier stop,
            SplittableRandom random) {
        this.core = core;
        this.incumbent = incumbent;
        this.elites = elites;
        this.guide = guide;
        this.budget = budget;
        this.stop = stop;
        this.random = random;
        this.sets = new FreeSets(core, random);
        this.local = new LocalSearch(core, budget, stop);
        this.nodes = options.without().contains(Technique.ENUMERATION) ? 0 : 2000;
        this.kicks = !options.without().contains(Technique.KICKS);
        this.crossing = !options.without().contains(Technique.CROSSING);
        this.x = new int[core.size];
        this.usage = new long[0];
        int count = 1;
        while (count < SIZES.length && SIZES[count - 1] < core.size) {
            count++;
        }
        this.sizes = count;
        this.gained = new double[sizes];
        this.spent = new double[sizes];
        this.turnOf = new double[sizes];
    }

    /** Works for a while, a second or so. */
    void turn() {
        double best = incumbent.cost();
        double bound = incumbent.bound();
        boolean none = best == Double.POSITIVE_INFINITY;
        double least = idle >= PATIENCE ? 0.0002 : 0.005;
        if (none || (best - bound > 0.0002 * best && bound > boundAtRestart * (1 + least) + 1)) {
            restart(none, bound);
        }
        int[] taken = incumbent.best();
        if (taken == null) {
            return;
        }
        if (crossing && early()) {
            cross(taken, List.of(taken, guide.decoded()));
            vain = core.cost(x) < core.cost(taken) ? 0 : vain + 1;
            taken = x.clone();
        }
        if (idle >= LONG_PATIENCE && kicks && random.nextInt(3) == 0) {
            startAnew(taken);
        } else if (idle >= PATIENCE && kicks && random.nextInt(4) > 0) {
            kick(taken);
        } else if (idle >= PATIENCE && crossing && random.nextBoolean()) {
            crossElites(taken);
        } else {
            sets.focusOn(idle >= PATIENCE && random.nextBoolean() ? guide.lively() : new int[0]);
            begin(taken);
            improve(50);
            sets.focusOn(new int[0]);
        }
        idle = incumbent.cost() < best ? 0 : idle + 1;
    }

    /** Whether the gap is wide, and what is decoded has made choices better lately. */
    private boolean early() {
        return vain < VAIN && incumbent.cost() - incumbent.bound() > WIDE * incumbent.cost();
    }

    private void begin(int[] start) {
        x = start.clone();
        usage = core.usage(x);
    }

    private void restart(boolean none, double bound) {
        boundAtRestart = bound;
        begin(guide.decoded());
        if (repair(none)) {
            incumbent.offer(x, "repair");
            improve(60);
            int[] best = incumbent.best();
            if (crossing && best != null) {
                cross(best, List.of(best, x.clone(), guide.decoded()));
            }
        }
    }

    /** Brings all rows within their limits; false if the steps do not suffice. */
    private boolean repair(boolean none) {
        int steps = none ? 40 : 200;
        // Where a choice is known already, repairs take no more than all else.
        long mostWork = none ? Long.MAX_VALUE : 2 * local.work();
        for (int step = 0; step < steps && local.work() < mostWork && !stop.getAsBoolean(); step++) {
            int row = overfullRow();
            if (row < 0) {
                return core.cost(x) < Double.POSITIVE_INFINITY;
            }
            int size = 32 << Math.min(step / 3, 16);
            int[] free = size >= core.size ? sets.all() : sets.ball(size, 4, row, x);
            local.search(plan(free), x, usage, guide.prices(), 20, 0);
        }
        return overfullRow() < 0 && core.cost(x) < Double.POSITIVE_INFINITY;
    }

    /** Solves neighbourhoods of the present choice and offers what beats the best. */
    private void improve(int patience) {
        int steps = patience;
        double present = core.cost(x);
        double overtaken = OVERTAKEN * incumbent.cost();
        for (int step = 0; step < steps && !stop.getAsBoolean(); step++) {
            if (incumbent.cost() < Math.min(present, overtaken)) {
                return;
            }
            int kind = pick();
            long before = local.work();
            int size = Math.min(SIZES[kind], core.size);
            int row = random.nextInt(3) == 0 ? fullRow() : -1;
            int centers = row < 0 ? 1 + random.nextInt(3) : 2 << random.nextInt(3);
            int[] free = size == core.size ? sets.all() : sets.ball(size, centers, row, x);
            Outcome outcome = local.search(plan(free), x, usage, guide.prices(), 12, nodes);
            double won = 0;
            if (outcome == Outcome.BETTER) {
                double cost = core.cost(x);
                won = (present - cost) / cost;
                present = cost;
                steps = Math.min(Math.max(steps, step + patience), (early() ? 2 : 6) * patience);
                if (cost < incumbent.cost()) {
                    incumbent.offer(x, "neighbourhood of " + free.length);
                }
            }
            learn(kind, won, (double) (local.work() - before));
        }
        if (present < (idle < LONG_PATIENCE ? CROSSABLE : CROSSABLE_LATE) * incumbent.cost()) {
            elites.offer(x, present);
        }
    }

    /** Draws anew in some region, improves there, and takes over what got better. */
    private void kick(int[] best) {
        int[] from = random.nextInt(4) == 0 ? elites.any(random) : null;
        begin(from == null ? best : from);
        double temperature = core.cost(x) / core.size * Math.pow(10, -random.nextDouble(0.5, 3.5));
        int size = 16 << random.nextInt(4);
        int count = 1 << random.nextInt(6);
        if (count > 1) {
            int row = random.nextBoolean() ? fullRow() : -1;
            sets.focusOn(sets.ball(Math.min(size * count, core.size), row < 0 ? 1 : 8, row, x));
        }
        for (int i = 0; i < count && !stop.getAsBoolean(); i++) {
            int[] free = sets.ball(Math.min(size, core.size), 1 + random.nextInt(3), -1, x);
            local.draw(plan(free), x, usage, guide.prices(), temperature, random);
        }
        sets.focusOn(sets.difference(best, x));
        improve(30);
        sets.focusOn(new int[0]);
        if (crossing) {
            cross(best, List.of(best, x.clone()));
        }
    }

    /** Draws everything anew with much noise, improves that, and crosses it with the best choice. */
    private void startAnew(int[] best) {
        begin(best);
        double temperature = core.cost(x) / core.size * Math.pow(10, random.nextDouble(-0.5, 1.5));
        int size = Math.min(DRAWN, core.size);
        for (int i = 2 * core.size / size; i > 0 && !stop.getAsBoolean(); i--) {
            local.draw(plan(sets.ball(size, 1, -1, x)), x, usage, guide.prices(), temperature, random);
        }
        improve(50);
        if (crossing) {
            cross(best, List.of(best, x.clone()));
        }
    }

    /** Crosses some of the elites with the best choice. */
    private void crossElites(int[] best) {
        List<int[]> some = new ArrayList<>(List.of(best));
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            int[] other = elites.any(random);
            if (other != null) {
                some.add(other);
            }
        }
        if (random.nextBoolean()) {
            some.add(guide.decoded());
        }
        cross(best, some);
    }

    /** Finds the best mixture of choices, one of which fits and is to be improved. */
    private void cross(int[] from, List<int[]> choices) {
        Mixture mixture = new Mixture(core, choices);
        begin(mixture.best(from, guide.prices(), 4 * nodes, random, budget, stop));
        double cost = core.cost(x);
        if (cost < incumbent.cost()) {
            incumbent.offer(x, "crossing of " + mixture.open());
        }
        elites.offer(x, cost);
    }

    private Elimination plan(int[] free) {
        Elimination plan = Elimination.plan(core, free, 1 << random.nextInt(11, 17), 1 << 21, random, budget);
        budget.spend(plan.entries() + 1000L * free.length);
        return plan;
    }

    /** A random row among those above their limit, -1 if there is none. */
    private int overfullRow() {
        int found = -1;
        int count = 0;
        for (int r = 0; r < core.rows; r++) {
            if (usage[r] > core.limit[r] && random.nextInt(++count) == 0) {
                found = r;
            }
        }
        return found;
    }

    /** A random row among those that have a price or are nearly full, -1 if there is none. */
    private int fullRow() {
        double[] prices = guide.prices();
        int found = -1;
        int count = 0;
        for (int r = 0; r < core.rows; r++) {
            boolean full = prices[r] > 0 || usage[r] > 0.995 * core.limit[r];
            if (full && random.nextInt(++count) == 0) {
                found = r;
            }
        }
        return found;
    }

    /** The size whose work is furthest below its share. */
    private int pick() {
        int best = 0;
        for (int i = 1; i < sizes; i++) {
            if (rate(i) > rate(best)) {
                best = i;
            }
        }
        int due = 0;
        double least = Double.POSITIVE_INFINITY;
        for (int i = 0; i < sizes; i++) {
            double share = 0.5 / sizes + (i == best ? 0.5 : 0);
            if (turnOf[i] / share < least) {
                least = turnOf[i] / share;
                due = i;
            }
        }
        return due;
    }

    private double rate(int kind) {
        return (gained[kind] + 1e-9) / (spent[kind] + 1e4);
    }

    private void learn(int kind, double won, double work) {
        gained[kind] = 0.97 * gained[kind] + won;
        spent[kind] = 0.97 * spent[kind] + work;
        turnOf[kind] += work;
        for (int i = 0; i < sizes; i++) {
            turnOf[i] *= 0.99;
        }
    }
}

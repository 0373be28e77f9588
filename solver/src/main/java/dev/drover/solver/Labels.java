package dev.drover.solver;

import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Labels on a core, or on what it comes down to when it is condensed: where many values are gone, few variables and few usage rows are
 * left, and the labels remember less.
 */
final class Labels {
    /** Entries of the tables of elimination at most. */
    private static final int MOST_ENTRIES = 1 << 20;

    private static final long MOST_TOTAL_ENTRIES = 1 << 23;

    /** Steps to the best prices of a condensed core, whose rows are others. */
    private static final int PRICE_STEPS = 60;

    /** Numbers of a label that are few: no other order is tried. */
    private static final int FEW_NUMBERS = 4;

    private final Core core;
    private final LabelSearch search;
    private final double @Nullable [] ownPrice;

    private Labels(Core core, LabelSearch search, double @Nullable [] ownPrice) {
        this.core = core;
        this.search = search;
        this.ownPrice = ownPrice;
    }

    /** Labels along the tree of a wide core; null if their tables would be too large. */
    static @Nullable Labels ofWide(Core core, long seed, Budget budget) {
        LabelSearch search = LabelSearch.alongTree(core, seed, LabelSearch.MOST_NUMBERS, budget);
        return search == null ? null : new Labels(core, search, null);
    }

    /**
     * Labels with the fewest numbers: along the layers or along the tree, of the core or of the condensed one.
     *
     * @param price of each row of the core
     * @param dominating whether dominated values may go
     * @param mostNumbers of a label
     * @return null if nothing is left to choose, or the tables or the labels would be too large
     */
    static @Nullable Labels ofNarrow(
            Core core, double[] price, boolean dominating, long seed, int mostNumbers, Budget budget) {
        LabelSearch plain = fewest(core, seed, mostNumbers, budget);
        if (plain != null && plain.numbers() <= FEW_NUMBERS) {
            return new Labels(core.alone(), plain, price);
        }
        Core small = Condenser.condense(core.alone(), dominating, budget).core();
        if (small == null || small.size == 0) {
            return plain == null ? null : new Labels(core.alone(), plain, price);
        }
        LabelSearch condensed = fewest(small, seed, plain == null ? mostNumbers : plain.numbers(), budget);
        if (condensed == null) {
            return plain == null ? null : new Labels(core.alone(), plain, price);
        }
        double[] ownPrice = small.pricesOf(core, price);
        Elimination tree =
                Elimination.whole(small, MOST_ENTRIES, MOST_TOTAL_ENTRIES, new SplittableRandom(seed), budget);
        if (tree != null && small.rows > 0) {
            TreeDual dual = new TreeDual(small, tree, ownPrice, budget);
            for (int step = 0; step < PRICE_STEPS && !dual.settled(); step++) {
                double unused = dual.step();
            }
            ownPrice = dual.bestPrice();
        }
        return new Labels(small, condensed, ownPrice);
    }

    private static @Nullable LabelSearch fewest(Core core, long seed, int mostNumbers, Budget budget) {
        LabelSearch along = LabelSearch.along(core, mostNumbers, budget);
        if (along != null && along.numbers() <= FEW_NUMBERS) {
            return along;
        }
        LabelSearch fewest = along;
        // Labels of parts side by side see values of all parts, which makes more of them.
        LabelSearch parts = LabelSearch.sideBySide(core, fewest == null ? mostNumbers : fewest.numbers() / 2, budget);
        fewest = parts == null ? fewest : parts;
        if (fewest != null && fewest.numbers() <= FEW_NUMBERS) {
            return fewest;
        }
        LabelSearch tree =
                LabelSearch.alongTree(core, seed, fewest == null ? mostNumbers : fewest.numbers() - 1, budget);
        return tree == null ? fewest : tree;
    }

    /** Numbers that labels have at most, one of each variable: what the narrowest search takes. */
    int numbersOfAll() {
        return core.size * search.numbers();
    }

    /** The greatest width that memory allows. */
    int mostWidth() {
        return search.mostWidth();
    }

    /** Searches, as {@link LabelSearch#search} does; at these prices of the whole core, if none are known that are better. */
    double search(double[] price, double known, int width) {
        return search.search(ownPrice == null ? price : ownPrice, known, width);
    }

    /** Values of the whole core's variables, null if none cheaper than the known ones were found. */
    int @Nullable [] best() {
        int[] best = search.best();
        return best == null || ownPrice == null ? best : core.expansion().strategies(best);
    }

    /** Whether the latest search proved that no choice costs less than the best known one. */
    boolean complete() {
        return search.complete();
    }
}

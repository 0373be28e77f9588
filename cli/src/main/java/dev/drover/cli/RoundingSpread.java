package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.TrainingStep;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * How far rounding alone moves each element of a step's outputs: the spread of the outputs of the unpartitioned step when every floating
 * input is moved by chance, by up to eight of its last places, and every rounded result within by two ({@link RoundingNoise}). Adam's first
 * step divides a gradient by its own size, so where a gradient is near 0 (beside the epsilon; that of a key's bias is 0 but for
 * rounding) any order of summing gives another update; no tolerance for all elements tells that from a mistake, but the step itself
 * does.
 */
final class RoundingSpread {
    /** Runs of the step that most elements need, and those after which an element is called wrong. */
    static final int FIRST_DRAWS = 4;

    static final int MOST_DRAWS = 12;

    /** An element may differ by this many spreads. */
    static final double FACTOR = 8;

    /** What a few runs found of the whole output. */
    private static final class Range {
        final double[] least;
        final double[] most;
        double middle;
        double widest;

        Range(int size) {
            least = new double[size];
            most = new double[size];
            Arrays.fill(least, Double.POSITIVE_INFINITY);
            Arrays.fill(most, Double.NEGATIVE_INFINITY);
        }

        void add(Literal value) {
            for (int i = 0; i < least.length; i++) {
                least[i] = Math.min(least[i], value.asDouble(i));
                most[i] = Math.max(most[i], value.asDouble(i));
            }
        }

        double width(int i) {
            double width = most[i] - least[i];
            return Double.isFinite(width) ? width : 0;
        }

        long moved(double beyond) {
            long moved = 0;
            for (int i = 0; i < least.length; i++) {
                moved += width(i) > beyond ? 1 : 0;
            }
            return moved;
        }

        /** The width of the element in the middle: where most of an output is noise, so are those that few draws happen not to move. */
        void summarize() {
            double[] widths = new double[least.length];
            for (int i = 0; i < widths.length; i++) {
                widths[i] = width(i);
            }
            Arrays.sort(widths);
            middle = widths.length == 0 ? 0 : widths[widths.length / 2];
            widest = widths.length == 0 ? 0 : widths[widths.length - 1];
        }
    }

    /** Runs steps that rounding moves. */
    @FunctionalInterface
    interface Runs {
        /** The outputs of draws {@code first} to before {@code end}. */
        List<List<Literal>> outputs(int first, int end);
    }

    private final Runs runs;
    /** By output; empty for outputs that are not floating. */
    private final List<Range> ranges = new ArrayList<>();

    private int draws;

    RoundingSpread(Runs runs) {
        this.runs = runs;
    }

    /** Of a step for some inputs. */
    static RoundingSpread of(Supplier<WholeStep> whole, ModelInputs inputs) {
        return new RoundingSpread((first, end) -> {
            WholeStep once = whole.get();
            List<TrainingStep> steps = new ArrayList<>();
            List<ModelInputs> moved = new ArrayList<>();
            for (int draw = first; draw < end; draw++) {
                steps.add(RoundingNoise.in(once.step(), 1 + draw));
                moved.add(inputs.moved(once.step(), 1 + draw));
            }
            return once.outputs(steps, moved);
        });
    }

    /** This, with so many draws at least. */
    RoundingSpread atLeast(int wanted) {
        if (wanted <= draws) {
            return this;
        }
        for (List<Literal> run : runs.outputs(draws, wanted)) {
            for (int output = 0; output < run.size(); output++) {
                Literal value = run.get(output);
                if (draws == 0) {
                    ranges.add(new Range(value.dtype().isFloat() ? value.size() : 0));
                }
                ranges.get(output).add(value);
            }
            draws++;
        }
        ranges.forEach(Range::summarize);
        return this;
    }

    /** How far rounding moved the element that it moved most, in its own unit. */
    double most(int output) {
        return ranges.get(output).widest;
    }

    /**
     * Elements that draws may have missed: where rounding turns an update's sign in one step of many, so few draws do not turn each that
     * another order of summing does. Of those that draws move further than {@code beyond}, a share of 1 / draws at most is missed, which scatters.
     */
    long missed(int output, double beyond) {
        double expected = ranges.get(output).moved(beyond) / (double) draws;
        return Math.round(expected + 2 * Math.sqrt(expected));
    }

    /** By how much the element may differ because of rounding, in its own unit; 0 if it is not floating. */
    double allowed(int output, int element) {
        Range range = ranges.get(output);
        return element < range.least.length ? FACTOR * Math.max(range.middle, range.width(element)) : 0;
    }
}

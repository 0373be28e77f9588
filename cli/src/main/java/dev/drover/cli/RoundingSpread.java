package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.TrainingStep;
import java.util.ArrayList;
import java.util.List;

/**
 * How far rounding alone moves each element of a step's outputs: the spread of the outputs of the unpartitioned step when every floating
 * input is moved by chance, by up to eight of its last places. Adam's first step divides a gradient by its own size, so where a gradient
 * is near 0 (beside the epsilon) any order of summing gives another update; no tolerance for all elements tells that from a mistake,
 * but the step itself does.
 */
final class RoundingSpread {
    /** Runs of the step with moved inputs. */
    static final int DRAWS = 4;

    /** An element may differ by this many spreads. */
    static final double FACTOR = 8;

    /** By output, by element; empty for outputs that are not floating. */
    private final List<float[]> spreads = new ArrayList<>();

    private RoundingSpread() {}

    static RoundingSpread of(WholeStep whole, ModelInputs inputs) {
        TrainingStep step = whole.step();
        List<ModelInputs> moved = new ArrayList<>();
        for (int draw = 0; draw < DRAWS; draw++) {
            moved.add(inputs.moved(step, 1 + draw));
        }
        return among(whole.outputs(moved));
    }

    /** The spread among several runs' outputs. */
    static RoundingSpread among(List<List<Literal>> runs) {
        RoundingSpread out = new RoundingSpread();
        for (int output = 0; output < runs.get(0).size(); output++) {
            int size = runs.get(0).get(output).dtype().isFloat()
                    ? runs.get(0).get(output).size()
                    : 0;
            float[] spread = new float[size];
            for (int i = 0; i < size; i++) {
                double least = Double.POSITIVE_INFINITY;
                double most = Double.NEGATIVE_INFINITY;
                for (List<Literal> run : runs) {
                    double value = run.get(output).asDouble(i);
                    least = Math.min(least, value);
                    most = Math.max(most, value);
                }
                double width = most - least;
                spread[i] = Double.isFinite(width) ? (float) width : 0;
            }
            out.spreads.add(spread);
        }
        return out;
    }

    /** By how much the element may differ because of rounding, in its own unit; 0 if it is not floating. */
    double allowed(int output, int element) {
        float[] spread = spreads.get(output);
        return element < spread.length ? FACTOR * spread[element] : 0;
    }
}

package dev.drover.plan.sharding;

import java.util.Collections;
import java.util.List;

/**
 * How an instruction is computed on a mesh: for each axis, the factor of its rule that the axis cuts, or {@link #REPLICATE}, or
 * {@link #pass} for partial sums that pass through linearly. Everything else follows: the shardings that operands must have and
 * that of the result. Two axes that cut one factor nest, the earlier axis outside.
 */
public record OpStrategy(List<Integer> choiceByAxis) {
    /** Every device along the axis computes the same. */
    public static final int REPLICATE = -1;

    public OpStrategy {
        choiceByAxis = List.copyOf(choiceByAxis);
    }

    public static OpStrategy replicated(int axes) {
        return new OpStrategy(Collections.nCopies(axes, REPLICATE));
    }

    /** The operands of linear group {@code group} are partial along the axis, and so is the result. */
    public static int pass(int group) {
        return -2 - group;
    }

    public int choice(int axis) {
        return choiceByAxis.get(axis);
    }

    public boolean cuts(int axis) {
        return choice(axis) >= 0;
    }

    /** The linear group that passes partial sums along the axis, or -1. */
    public int passedGroup(int axis) {
        return choice(axis) <= -2 ? -2 - choice(axis) : -1;
    }
}

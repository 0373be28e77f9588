package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.Localizer;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** One instruction's cut among the devices of a mesh, as its op sees it. */
public final class LocalCut implements Localizer {
    private final StepLowering steps;
    private final Mesh mesh;
    private final OpShardings shardings;
    private final OpStrategy strategy;
    private final List<Instruction> operands;

    LocalCut(StepLowering steps, Mesh mesh, OpShardings shardings, OpStrategy strategy, List<Instruction> operands) {
        this.steps = steps;
        this.mesh = mesh;
        this.shardings = shardings;
        this.strategy = strategy;
        this.operands = operands;
    }

    /** What each device computes for an instruction under a strategy, by itself: parameters are the local operands. */
    public static Computation alone(OpShardings shardings, OpStrategy strategy, Mesh mesh) {
        Instruction whole = shardings.instruction();
        ComputationBuilder builder = new ComputationBuilder(whole.name());
        List<Instruction> operands = new ArrayList<>();
        for (int i = 0; i < shardings.operands(); i++) {
            operands.add(builder.parameter(
                    "operand" + i, shardings.operand(strategy, i).local(shardings.operandShape(i), mesh)));
        }
        StepLowering steps = new StepLowering(builder, mesh);
        return builder.build(localized(steps, mesh, shardings, strategy, operands));
    }

    /**
     * The op on local operands. Along an axis that does not divide what it cuts, operands and result are whole:
     *
     * <pre>
     *   x[9] -> padded to 12 -> block of 3 -> op -> all-gather [12] -> y[9]      or, of a reduction: a term of the sum
     * </pre>
     */
    static Instruction localized(
            StepLowering steps, Mesh mesh, OpShardings shardings, OpStrategy strategy, List<Instruction> operands) {
        FactorRule rule = shardings.rule();
        List<Instruction> blocks = new ArrayList<>(operands);
        for (int axis = 0; axis < mesh.rank(); axis++) {
            for (int i = 0; i < operands.size() && shardings.pads(strategy, axis); i++) {
                int dim = dimOf(rule.operands().get(i), strategy.choice(axis));
                if (dim >= 0) {
                    blocks.set(i, steps.paddedBlock(blocks.get(i), dim, axis));
                }
            }
        }
        Instruction whole = shardings.instruction();
        Instruction result = whole.op().localize(new LocalCut(steps, mesh, shardings, strategy, blocks));
        for (int axis = 0; axis < mesh.rank(); axis++) {
            int dim = shardings.pads(strategy, axis) ? dimOf(rule.results().get(0), strategy.choice(axis)) : -1;
            if (dim >= 0) {
                result = steps.gatheredBlocks(result, dim, axis, whole.array().dim(dim));
            }
        }
        return result;
    }

    /** The dim in which a factor is, or -1. */
    private static int dimOf(List<List<Integer>> dims, int factor) {
        for (int dim = 0; dim < dims.size(); dim++) {
            if (dims.get(dim).contains(factor)) {
                return dim;
            }
        }
        return -1;
    }

    @Override
    public ComputationBuilder builder() {
        return steps.builder();
    }

    @Override
    public List<Instruction> operands() {
        return operands;
    }

    @Override
    public Instruction whole() {
        return shardings.instruction();
    }

    @Override
    public FactorRule rule() {
        return shardings.rule();
    }

    @Override
    public long parts(int factor) {
        return shardings.parts(strategy, factor);
    }

    @Override
    public Instruction partIndex(int factor) {
        return steps.coordinate(axes(factor));
    }

    @Override
    public Instruction fetched(int factor, LongUnaryOperator sourceByPart, Instruction value) {
        return steps.fetched(value, axes(factor), sourceByPart);
    }

    private List<Integer> axes(int factor) {
        List<Integer> axes = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (strategy.choice(axis) == factor) {
                axes.add(axis);
            }
        }
        return axes;
    }

    @Override
    public ArrayShape localResult(int leaf) {
        return shardings
                .result(strategy, leaf)
                .local(shardings.instruction().shape().leaves().get(leaf), mesh);
    }
}

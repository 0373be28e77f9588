package dev.drover.plan.sharding;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Factor;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.LinearGroups;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;

/**
 * One instruction's rule on one mesh: which strategies are legal, and which shardings each implies. Operands count by leaf ({@link
 * Source#ofOperands}); where they are arrays, as nearly always in a flat graph, the leaves are the operands.
 */
public final class OpShardings {
    private final Instruction instruction;
    private final FactorRule rule;
    private final List<Set<Integer>> linearGroups;
    private final BitSet passing;
    private final Mesh mesh;
    private final List<ArrayShape> operandLeaves = new ArrayList<>();

    public OpShardings(Instruction instruction, Mesh mesh) {
        this.instruction = instruction;
        this.rule = instruction.factors();
        this.linearGroups = instruction.op().linearGroups();
        this.mesh = mesh;
        instruction.operandShapes().forEach(shape -> operandLeaves.addAll(shape.leaves()));
        this.passing = passingGroups(instruction);
    }

    public FactorRule rule() {
        return rule;
    }

    public Instruction instruction() {
        return instruction;
    }

    /** All legal strategies: the product over axes of replicate, cut a factor, pass a partial sum. */
    public List<OpStrategy> all() {
        List<OpStrategy> out = new ArrayList<>();
        List<List<Integer>> options = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            options.add(options(axis));
        }
        product(options, new ArrayList<>(), out);
        return out;
    }

    private List<Integer> options(int axis) {
        List<Integer> options = new ArrayList<>();
        options.add(OpStrategy.REPLICATE);
        if (mesh.size(axis) == 1) {
            return options;
        }
        for (int f = 0; f < rule.factors().size(); f++) {
            Factor factor = rule.factors().get(f);
            if (factor.cutsAmongDevices(mesh.size(axis)) || factor.padsInto(mesh.size(axis))) {
                options.add(f);
            }
        }
        for (int g = 0; g < linearGroups.size(); g++) {
            if (passing.get(g)) {
                options.add(OpStrategy.pass(g));
            }
        }
        return options;
    }

    /** The numbers of the linear groups by which partial sums pass; rule and mesh aside, all that depends on more than op and shapes. */
    public static BitSet passingGroups(Instruction instruction) {
        BitSet passing = new BitSet();
        List<Set<Integer>> groups = instruction.op().linearGroups();
        for (int g = 0; g < groups.size(); g++) {
            passing.set(g, areFloats(instruction, groups.get(g)) && LinearGroups.passes(instruction, groups.get(g)));
        }
        return passing;
    }

    private static boolean areFloats(Instruction instruction, Set<Integer> operands) {
        for (int operand : operands) {
            if (operand >= instruction.operands().size()
                    || !(instruction.operand(operand).shape() instanceof ArrayShape array)
                    || !array.dtype().isFloat()) {
                return false;
            }
        }
        return true;
    }

    private void product(List<List<Integer>> options, List<Integer> chosen, List<OpStrategy> out) {
        if (chosen.size() == options.size()) {
            OpStrategy strategy = new OpStrategy(chosen);
            if (isLegal(strategy)) {
                out.add(strategy);
            }
            return;
        }
        for (int option : options.get(chosen.size())) {
            chosen.add(option);
            product(options, chosen, out);
            chosen.remove(chosen.size() - 1);
        }
    }

    /** Whether each factor divides by all axes that cut it together, and partial kinds do not mix. */
    public boolean isLegal(OpStrategy strategy) {
        if (strategy.choiceByAxis().size() != mesh.rank()) {
            return false;
        }
        for (int axis = 0; axis < mesh.rank(); axis++) {
            int choice = strategy.choice(axis);
            if (choice >= rule.factors().size() || (strategy.passedGroup(axis) >= linearGroups.size())) {
                return false;
            }
            if (choice >= 0 && !mayCut(strategy, axis, choice)) {
                return false;
            }
            if (strategy.passedGroup(axis) >= 0 && !passing.get(strategy.passedGroup(axis))) {
                return false;
            }
        }
        return kinds(strategy).size() <= 1 && !cutsAlternatives(strategy);
    }

    /** Equal blocks, or blocks padded along one axis alone. */
    private boolean mayCut(OpStrategy strategy, int axis, int factor) {
        long parts = parts(strategy, factor);
        return rule.factors().get(factor).cutsAmongDevices(parts)
                || (parts == mesh.size(axis) && rule.factors().get(factor).padsInto(parts));
    }

    /**
     * Whether an axis cuts a factor that it does not divide: each device takes its block of whole operands, padded with zeros, and
     * the result is gathered, or is a term of a sum. Around the op nothing is cut along the axis.
     */
    public boolean pads(OpStrategy strategy, int axis) {
        return strategy.cuts(axis)
                && rule.factors().get(strategy.choice(axis)).padsInto(mesh.size(axis))
                && parts(strategy, strategy.choice(axis)) == mesh.size(axis);
    }

    /** Whether two factors that span the same dim are cut. */
    private boolean cutsAlternatives(OpStrategy strategy) {
        for (List<List<Integer>> dims : rule.operands()) {
            for (List<Integer> dim : dims) {
                long cut = dim.stream()
                        .filter(f -> rule.factors().get(f).spansDims() && parts(strategy, f) > 1)
                        .count();
                if (cut > 1) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether devices exchange pieces before or after they compute (halos, padded blocks). */
    public boolean exchanges(OpStrategy strategy) {
        return !exchangingAxes(strategy).isEmpty();
    }

    /** The axes that cut a factor by which devices exchange pieces. */
    public List<Integer> exchangingAxes(OpStrategy strategy) {
        List<Integer> axes = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (strategy.cuts(axis)
                    && (rule.factors().get(strategy.choice(axis)).spansDims() || pads(strategy, axis))) {
                axes.add(axis);
            }
        }
        return axes;
    }

    /** Different reductions do not commute, so the result may be partial in one kind only. */
    private Set<Reduction> kinds(OpStrategy strategy) {
        Set<Reduction> kinds = new java.util.TreeSet<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (strategy.passedGroup(axis) >= 0) {
                kinds.add(Reduction.SUM);
            } else if (strategy.cuts(axis)) {
                Reduction reduction = rule.factors().get(strategy.choice(axis)).reduction();
                if (reduction != null) {
                    kinds.add(reduction);
                }
            }
        }
        return kinds;
    }

    /** Blocks that a factor is cut into under a strategy. */
    public long parts(OpStrategy strategy, int factor) {
        long parts = 1;
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (strategy.choice(axis) == factor) {
                parts *= mesh.size(axis);
            }
        }
        return parts;
    }

    /** Devices among which the instruction's work is divided. */
    public long divisions(OpStrategy strategy) {
        long divisions = 1;
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (strategy.cuts(axis)) {
                divisions *= mesh.size(axis);
            }
        }
        return divisions;
    }

    /** Shape of operand leaf {@code operand}. */
    public ArrayShape operandShape(int operand) {
        return operandLeaves.get(operand);
    }

    /** How many leaves the operands have. */
    public int operands() {
        return operandLeaves.size();
    }

    /** The sharding that operand leaf {@code operand} must have. */
    public Sharding operand(OpStrategy strategy, int operand) {
        List<AxisState> states = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            int group = strategy.passedGroup(axis);
            if (group >= 0) {
                states.add(linearGroups.get(group).contains(operand) ? AxisState.PARTIAL_SUM : AxisState.REPLICATED);
            } else {
                states.add(cut(strategy, axis, rule.operands().get(operand), operandLeaves.get(operand)));
            }
        }
        return new Sharding(states);
    }

    /** The sharding of result leaf {@code leaf}. */
    public Sharding result(OpStrategy strategy, int leaf) {
        List<List<Integer>> dims = rule.results().get(leaf);
        List<AxisState> states = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            int choice = strategy.choice(axis);
            if (strategy.passedGroup(axis) >= 0) {
                states.add(AxisState.PARTIAL_SUM);
            } else if (choice >= 0 && !FactorRule.contains(dims, choice)) {
                Factor factor = rule.factors().get(choice);
                Reduction reduction = factor.reduction();
                states.add(reduction == null ? AxisState.REPLICATED : new AxisState.Partial(reduction));
            } else {
                states.add(
                        cut(strategy, axis, dims, instruction.shape().leaves().get(leaf)));
            }
        }
        return new Sharding(states);
    }

    private AxisState cut(OpStrategy strategy, int axis, List<List<Integer>> dims, ArrayShape shape) {
        int factor = strategy.choice(axis);
        if (factor < 0 || pads(strategy, axis)) {
            return AxisState.REPLICATED;
        }
        for (int dim = 0; dim < dims.size(); dim++) {
            int at = dims.get(dim).indexOf(factor);
            if (at < 0) {
                continue;
            }
            boolean spans = rule.factors().get(factor).spansDims();
            long stride = spans ? shape.dim(dim) : rule.factors().get(factor).size();
            for (int a = 0; a <= axis; a++) {
                if (strategy.choice(a) == factor) {
                    stride /= mesh.size(a);
                }
            }
            for (int minor = at + 1; !spans && minor < dims.get(dim).size(); minor++) {
                stride *= rule.factors().get(dims.get(dim).get(minor)).size();
            }
            return new AxisState.Cut(dim, stride);
        }
        return AxisState.REPLICATED;
    }
}

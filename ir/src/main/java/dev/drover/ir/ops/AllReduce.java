package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Combines the operands of all devices of a group, element by element; each gets the result. An array for one operand, a tuple for
 * several. {@code all-reduce-start} has the same value here; {@link CollectiveDone} passes it on.
 */
public record AllReduce(Channel channel, Computation reducer, boolean start) implements Collective {
    static final OpKind KIND = new OpKind("all-reduce", source -> parse(source, false));
    static final OpKind START = new OpKind("all-reduce-start", source -> parse(source, true));

    public AllReduce(Channel channel, Computation reducer) {
        this(channel, reducer, false);
    }

    private static Op parse(OpSource source, boolean start) {
        return new AllReduce(Channel.parse(source), source.computation("to_apply"), start);
    }

    @Override
    public String opcode() {
        return start ? "all-reduce-start" : "all-reduce";
    }

    @Override
    public List<Computation> calls() {
        return List.of(reducer);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new AllReduce(channel, callees.get(0), start);
    }

    @Override
    public void print(OpWriter writer) {
        channel.print(writer);
        channel.printGlobal(writer);
        writer.computation("to_apply", reducer);
    }

    /** The reduction that this is, or null for other reducers. */
    public @Nullable Reduction reduction() {
        return Reducers.of(reducer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands (%s) of %s must be at least 1.", operands.size(), opcode());
        for (int i = 0; i < operands.size(); i++) {
            Check.array(this, operands, i);
        }
        return operands.size() == 1 ? operands.get(0) : new TupleShape(operands);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of();
    }

    /** Combined in the order of the group, the same on all of its devices; floats in double, rounded once. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<List<Value>> all = context.exchange(operands);
        List<Integer> group = channel.groups().groupOf(context.device(), context.devices());
        List<Value> results = new ArrayList<>();
        for (int i = 0; i < operands.size(); i++) {
            results.add(combined(context, reducer, all, group, i));
        }
        return Folds.together(results);
    }

    /** Operand {@code index} of the devices of a group, combined. */
    static Literal combined(
            EvalContext context, Computation reducer, List<List<Value>> all, List<Integer> group, int index) {
        Literal result = Folds.copy(all.get(group.get(0)).get(index).literal());
        ArrayShape flat = result.shape().withDims(result.size());
        Folds folds = new Folds(context, reducer);
        for (int member : group.subList(1, group.size())) {
            Literal other = all.get(member).get(index).literal();
            for (int e = 0; e < flat.dim(0); e++) {
                folds.fold(List.of(result), e, List.of(other), e);
            }
        }
        folds.finish(List.of(result));
        return result;
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }

    /** Of a sum, where the loss is the sum of all devices' losses: the sum of the devices' cotangents. */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (cotangents.stream().allMatch(Objects::isNull)) {
            return Collections.nCopies(cotangents.size(), null);
        }
        if (reduction() != Reduction.SUM || start) {
            throw new NoGradientException("The reducer (" + reducer.name() + ") of " + opcode() + " (" + self.name()
                    + ") must be an add to have a gradient.");
        }
        List<@Nullable Instruction> out = new ArrayList<>();
        for (Instruction cotangent : cotangents) {
            out.add(
                    cotangent == null
                            ? null
                            : context.build().builder().add(new AllReduce(channel, reducer), cotangent));
        }
        return out;
    }
}

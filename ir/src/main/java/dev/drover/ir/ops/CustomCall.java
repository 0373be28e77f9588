package dev.drover.ir.ops;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A call of something that has no opcode. Targets with a meaning here: those that only mark a value (its operand is its value), {@code
 * TopK}, and the routines of {@link Lapack}. Others are carried through as they are; evaluating one is refused by name.
 *
 * @param target without quotes
 * @param shape the declared result shape
 * @param attributes the other attributes, verbatim, in order
 * @param called computations, by the attribute {@code called_computations} or {@code to_apply}
 */
public record CustomCall(
        String target,
        Shape shape,
        Map<String, String> attributes,
        @Nullable String calledBy,
        List<Computation> called) implements Op {
    static final OpKind KIND = new OpKind("custom-call", CustomCall::parse);

    /**
     * Targets whose value is their one operand: XLA's and Shardy's sharding marks, and the marks that torch-neuronx puts around
     * transfers.
     */
    private static final Set<String> MARKS = Set.of(
            "Sharding",
            "xla.sdy.FuncResultSharding",
            "xla.sdy.Sharding",
            "MoveToHost",
            "MoveToDevice",
            "annotate_device_placement",
            "LayoutConstraint",
            "AwsNeuronTransferWithStaticRing");

    /** Between the whole array and a device's part: values only where both are the same. */
    private static final Set<String> MANUAL = Set.of("SPMDFullToShardShape", "SPMDShardToFullShape");

    private static final List<String> CARRIED = List.of(
            "operand_layout_constraints",
            "custom_call_has_side_effect",
            "api_version",
            "output_to_operand_aliasing",
            "schedule",
            "dim_labels",
            "window",
            "feature_group_count",
            "batch_group_count",
            "padding_type",
            "backend_config");

    public CustomCall {
        attributes = Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
        called = List.copyOf(called);
    }

    private static Op parse(OpSource source) {
        String target = unquoted(source.need("custom_call_target"));
        Map<String, String> attributes = new LinkedHashMap<>();
        for (String name : CARRIED) {
            String text = source.text(name);
            if (text != null) {
                attributes.put(name, text);
            }
        }
        String calledBy =
                source.has("called_computations") ? "called_computations" : source.has("to_apply") ? "to_apply" : null;
        List<Computation> called = calledBy == null ? List.of() : source.computations(calledBy);
        return new CustomCall(target, source.shape(), attributes, calledBy, called);
    }

    private static String unquoted(String text) {
        String trimmed = text.trim();
        return trimmed.length() > 1 && trimmed.startsWith("\"") && trimmed.endsWith("\"")
                ? trimmed.substring(1, trimmed.length() - 1)
                : trimmed;
    }

    @Override
    public String opcode() {
        return "custom-call";
    }

    @Override
    public List<Computation> calls() {
        return called;
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new CustomCall(target, shape, attributes, calledBy, callees);
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("custom_call_target", "\"" + target + "\"");
        attributes.forEach(writer::attribute);
        if (calledBy != null && calledBy.equals("to_apply")) {
            writer.computation("to_apply", called.get(0));
        } else if (calledBy != null) {
            writer.computations(calledBy, called);
        }
    }

    /** Whether the value is that of the one operand. */
    public boolean isMark() {
        return MARKS.contains(target);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        if (isMark()) {
            Check.that(
                    operands.size() == 1 && operands.get(0).equals(shape),
                    "The operands (%s) of custom-call %s must be one of its own shape (%s).",
                    operands,
                    target,
                    shape);
        }
        return shape;
    }

    /** The routine that is called on operands of these shapes, or null. */
    private @Nullable Lapack routine(List<Shape> operands) {
        Lapack routine = Lapack.of(target);
        return routine != null && routine.fits(operands, shape) ? routine : null;
    }

    /** Whether {@link #evaluate} knows the target, for operands of these shapes. */
    public boolean hasMeaning(List<Shape> operands) {
        return isMark()
                || (MANUAL.contains(target)
                        && operands.size() == 1
                        && operands.get(0).equals(shape))
                || (target.equals("TopK") && operands.size() == 1)
                || routine(operands) != null;
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        Lapack routine = routine(operands);
        return routine == null ? 0 : routine.flops(operands);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        if (routine(operands) != null) {
            return FactorRule.batched(
                    operands, result, operands.get(0).asArray().rank() - 2);
        }
        if (!isMark()) {
            return FactorRule.whole(operands, result);
        }
        FactorRule.Builder rule = new FactorRule.Builder();
        for (ArrayShape leaf : result.leaves()) {
            List<List<Integer>> dims = rule.freeDims(leaf);
            rule.operand(dims);
            rule.result(dims);
        }
        return rule.build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return isMark() ? List.of(Set.of(0)) : List.of();
    }

    @Override
    public Instruction localize(Localizer local) {
        Shape localShape = isMark() ? local.operands().get(0).shape() : shape;
        if (routine(local.whole().operandShapes()) != null) {
            List<Shape> leaves = new ArrayList<>();
            for (int i = 0; i < shape.leaves().size(); i++) {
                leaves.add(local.localResult(i));
            }
            localShape = shape instanceof ArrayShape ? leaves.get(0) : new TupleShape(leaves);
        }
        return local.builder().add(new CustomCall(target, localShape, attributes, calledBy, called), local.operands());
    }

    @Override
    public boolean isView() {
        return isMark();
    }

    @Override
    public boolean hasSideEffect() {
        return !isMark() && "true".equals(attributes.get("custom_call_has_side_effect"));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        if (isMark() || (MANUAL.contains(target) && self.operand(0).shape().equals(shape))) {
            return operands.get(0);
        }
        if (target.equals("TopK") && operands.size() == 1) {
            ArrayShape values = shape.leaves().get(0);
            return TopK.topK(operands.get(0).literal(), (int) values.dim(values.rank() - 1), true);
        }
        Lapack routine = routine(self.operandShapes());
        if (routine != null) {
            return routine.evaluate(
                    attributes, shape, operands.stream().map(Value::literal).toList());
        }
        throw new UserError(
                "The target (" + target + ") of custom-call (" + self.name()
                        + ") must be one that Drover can evaluate.",
                "Maybe lower the model without this kernel; planning works with it.");
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (!isMark()) {
            throw new NoGradientException("The target (" + target + ") of custom-call (" + self.name()
                    + ") must be a mark of a value to have a gradient.");
        }
        return cotangents;
    }
}

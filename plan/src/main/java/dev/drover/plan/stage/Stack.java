package dev.drover.plan.stage;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Factor;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.Localizer;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.OpWriter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Puts the pieces of all micro-batches together: of dim {@code dim} of the result, micro-batch m makes the units u with {@code u /
 * stride % parts == m}. Tasks do it, not programs.
 *
 * <pre>
 * operand dim (outer inner)   ->   result dim (outer parts inner),   inner = stride
 * </pre>
 */
public record Stack(int dim, long stride, int parts) implements Op {
    @Override
    public String opcode() {
        return "drover-stack";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape piece = operands.get(0).asArray();
        if (piece.dim(dim) % stride != 0) {
            throw new IllegalArgumentException(
                    "The stride (" + stride + ") of drover-stack must divide dim (" + dim + ") of " + piece + ".");
        }
        return piece.withDim(dim, piece.dim(dim) * parts);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape piece = operands.get(0).asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> from = new ArrayList<>();
        List<List<Integer>> to = new ArrayList<>();
        for (int d = 0; d < piece.rank(); d++) {
            if (d != dim) {
                List<Integer> factors = piece.dim(d) == 1 ? List.of() : List.of(rule.free(piece.dim(d)));
                from.add(factors);
                to.add(factors);
                continue;
            }
            List<Integer> operandFactors = new ArrayList<>();
            List<Integer> resultFactors = new ArrayList<>();
            if (piece.dim(d) > stride) {
                int outer = rule.free(piece.dim(d) / stride);
                operandFactors.add(outer);
                resultFactors.add(outer);
            }
            if (parts > 1) {
                resultFactors.add(rule.factor(parts, Factor.Kind.WHOLE));
            }
            if (stride > 1) {
                int inner = rule.free(stride);
                operandFactors.add(inner);
                resultFactors.add(inner);
            }
            from.add(operandFactors);
            to.add(resultFactors);
        }
        return rule.operand(from).result(to).build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public Instruction localize(Localizer local) {
        List<Integer> factors = local.rule().results().get(0).get(dim);
        long localStride = stride;
        if (stride > 1) {
            localStride /= local.parts(factors.get(factors.size() - 1));
        }
        return local.builder().add(new Stack(dim, localStride, parts), local.operands());
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("dim", Integer.toString(dim));
        writer.attribute("stride", Long.toString(stride));
        writer.attribute("parts", Integer.toString(parts));
    }

    /** Of one micro-batch: the piece is the whole. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        if (parts != 1) {
            throw new IllegalStateException("The pieces (" + parts + ") of " + self.name()
                    + " must be put together by tasks, not in a program.");
        }
        return operands.get(0);
    }
}

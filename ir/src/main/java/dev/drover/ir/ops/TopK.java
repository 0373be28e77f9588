package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The {@code k} largest (or smallest) elements along the last dim, in order, and their indexes: {@code [.., n] -> ([.., k], s32[..,
 * k])}. Of equal elements the earlier comes first; NaN counts as larger than all.
 */
public record TopK(int k, boolean largest) implements Op {
    static final OpKind KIND =
            new OpKind("topk", source -> new TopK(source.integer("k", -1), source.flag("largest", true)));

    @Override
    public String opcode() {
        return "topk";
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("k", Integer.toString(k));
        writer.attribute("largest", Boolean.toString(largest));
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        ArrayShape array = Check.array(this, operands, 0);
        Check.that(
                array.rank() > 0 && k >= 0 && k <= array.dim(array.rank() - 1),
                "The k (%s) of topk must be at most the last dim of its operand (%s).",
                k,
                array);
        ArrayShape values = array.withDim(array.rank() - 1, k);
        return new TupleShape(List.of(values, values.withDType(DType.S32)));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape array = operands.get(0).asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> in = new ArrayList<>();
        for (int d = 0; d < array.rank() - 1; d++) {
            in.add(array.dim(d) == 1 ? List.of() : List.of(rule.free(array.dim(d))));
        }
        List<List<Integer>> out = new ArrayList<>(in);
        long last = array.dim(array.rank() - 1);
        in.add(last == 1 ? List.of() : List.of(rule.factor(last, Factor.Kind.WHOLE)));
        out.add(k == 1 ? List.of() : List.of(rule.factor(k, Factor.Kind.WHOLE)));
        return rule.operand(in).result(out).result(out).build();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return topK(operands.get(0).literal(), k, largest);
    }

    static Value topK(Literal array, int k, boolean largest) {
        int last = array.shape().rank() - 1;
        int n = (int) array.shape().dim(last);
        ArrayShape shape = array.shape().withDim(last, k);
        Literal values = Literal.zeros(shape);
        Literal indexes = Literal.zeros(shape.withDType(DType.S32));
        Comparator<Integer> ascending = array.dtype().isFloat()
                ? Comparator.comparingDouble(array::asDouble)
                : array.dtype() == DType.U64
                        ? (x, y) -> Long.compareUnsigned(array.asLong(x), array.asLong(y))
                        : Comparator.comparingLong(array::asLong);
        Comparator<Integer> order = largest ? ascending.reversed() : ascending;
        for (int row = 0; row < (n == 0 ? 0 : array.size() / n); row++) {
            Integer[] positions = new Integer[n];
            for (int i = 0; i < n; i++) {
                positions[i] = row * n + i;
            }
            Arrays.sort(positions, order);
            for (int i = 0; i < k; i++) {
                values.copyElement(array, positions[i], row * k + i);
                indexes.longs()[row * k + i] = positions[i] - (long) row * n;
            }
        }
        return new Value.Tuple(List.of(values, indexes));
    }

    /** The values' cotangent goes back to where they were. */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction dz = cotangents.get(0);
        if (dz == null) {
            return Collections.singletonList(null);
        }
        OpBuilder build = context.build();
        ArrayShape array = self.operand(0).array();
        int last = array.rank() - 1;
        List<Integer> batch = new ArrayList<>();
        for (int d = 0; d < last; d++) {
            batch.add(d);
        }
        ScatterDims dims = new ScatterDims(List.of(), List.of(last), List.of(last), batch, batch, last + 1);
        Scatter scatter = new Scatter(dims, Reducers.computation(Reduction.SUM, array.dtype()));
        return List.of(build.builder().add(scatter, build.zeros(array), build.element(self, 1), dz));
    }
}

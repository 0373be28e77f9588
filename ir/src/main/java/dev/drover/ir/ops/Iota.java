package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Each element is its index along a dim. */
public record Iota(ArrayShape shape, int dimension) implements Op {
    static final OpKind KIND = new OpKind("iota", source -> {
        ArrayShape shape = source.shape().asArray();
        source.need("iota_dimension");
        return new Iota(shape, source.integer("iota_dimension", 0));
    });

    @Override
    public String opcode() {
        return "iota";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 0);
        Check.dims(this, "iota_dimension", List.of(dimension), shape.rank());
        Check.that(shape.dtype() != DType.PRED, "The result (%s) of iota must be of numbers.", shape);
        return shape;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        return rule.result(rule.freeDims(shape)).build();
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("iota_dimension", Integer.toString(dimension));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        int n = Math.toIntExact(shape.elements());
        int run = (int) shape.strides()[dimension];
        int size = (int) shape.dim(dimension);
        long[] indexes = new long[n];
        for (int i = 0; i < n; ) {
            for (int k = 0; k < size; k++) {
                for (int r = 0; r < run; r++) {
                    indexes[i++] = k;
                }
            }
        }
        Literal out = Literal.ofLongs(shape.withDType(DType.S64), indexes);
        return Convert.convert(out, shape.dtype());
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return List.of();
    }

    /** Counts from where the part begins. In s32, so that narrow floats round once, as in the whole. */
    @Override
    public Instruction localize(Localizer local) {
        ArrayShape part = local.localResult();
        if (part.dim(dimension) == shape.dim(dimension)) {
            return local.builder().add(new Iota(part, dimension), List.of());
        }
        OpBuilder b = new OpBuilder(local.builder());
        int factor = local.rule().results().get(0).get(dimension).get(0);
        Instruction start = b.mul(local.partIndex(factor), (double) part.dim(dimension));
        Instruction index = b.iota(part.withDType(DType.S32), dimension);
        return b.convert(b.add(index, start), shape.dtype());
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.PackedLiteral;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A value known beforehand.
 *
 * @param values the elements; null where the file left them out ({@code constant({...})}), which can be planned with, not run
 */
public record Constant(ArrayShape shape, @Nullable PackedLiteral values) implements Op {
    static final OpKind KIND = new OpKind("constant", source -> {
        ArrayShape shape = source.shape().asArray();
        return new Constant(shape, ConstantText.parse(shape, source.payload()));
    });

    public static Constant of(Literal literal) {
        return new Constant(literal.shape(), PackedLiteral.pack(literal));
    }

    @Override
    public String opcode() {
        return "constant";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 0);
        return shape;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        return rule.result(rule.freeDims(shape)).build();
    }

    @Override
    public void print(OpWriter writer) {
        writer.payload(ConstantText.print(shape, values));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        if (values == null) {
            throw new UserError(
                    "The values ({...}) of constant (" + self.name() + ") must be in the file to run it.",
                    "Maybe print the module with large constants (XLA: print_large_constants).");
        }
        return values.unpack();
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return List.of();
    }

    /** A repeated scalar is made in the part's size; else the part is cut out of the whole. */
    @Override
    public Instruction localize(Localizer local) {
        ArrayShape part = local.localResult();
        if (values != null && values.isSplat()) {
            return local.builder().add(new Constant(part, values.withDims(part.dims())), List.of());
        }
        Instruction whole = local.builder().add(this, List.of());
        if (part.equals(shape)) {
            return whole;
        }
        OpBuilder b = new OpBuilder(local.builder());
        List<Instruction> starts = new ArrayList<>();
        List<List<Integer>> dims = local.rule().results().get(0);
        for (int d = 0; d < shape.rank(); d++) {
            boolean cut = part.dim(d) != shape.dim(d);
            starts.add(
                    cut ? b.mul(local.partIndex(dims.get(d).get(0)), (double) part.dim(d)) : b.constant(DType.S32, 0));
        }
        return b.dynamicSlice(whole, starts, part.dims());
    }
}

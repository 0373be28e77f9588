package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** In each dim the elements from {@code starts} to before {@code limits}, every {@code strides}-th. */
public record Slice(List<Long> starts, List<Long> limits, List<Long> strides) implements Op {
    static final OpKind KIND = new OpKind("slice", Slice::parse);
    private static final Pattern RANGE = Pattern.compile("\\[(\\d+):(\\d+)(?::(\\d+))?]");
    private static final Pattern RANGES = Pattern.compile("\\{(?:" + RANGE + ",?)*}");

    public Slice {
        starts = List.copyOf(starts);
        limits = List.copyOf(limits);
        strides = List.copyOf(strides);
    }

    private static Op parse(OpSource source) {
        String text = source.need("slice").replace(" ", "");
        if (!RANGES.matcher(text).matches()) {
            throw new AttributeException(
                    "slice", "The slice (" + text + ") must be a list of ranges such as {[0:4], [1:9:2]}.");
        }
        List<Long> starts = new ArrayList<>();
        List<Long> limits = new ArrayList<>();
        List<Long> strides = new ArrayList<>();
        Matcher range = RANGE.matcher(text);
        while (range.find()) {
            starts.add(Long.parseLong(range.group(1)));
            limits.add(Long.parseLong(range.group(2)));
            strides.add(range.group(3) == null ? 1L : Long.parseLong(range.group(3)));
        }
        return new Slice(starts, limits, strides);
    }

    @Override
    public String opcode() {
        return "slice";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        int rank = operand.rank();
        Check.that(
                starts.size() == rank && limits.size() == rank && strides.size() == rank,
                "The ranges (%s) of slice must be as many as the dims of its operand (%s).",
                ranges(),
                operand);
        long[] dims = new long[rank];
        for (int d = 0; d < rank; d++) {
            Check.that(
                    0 <= starts.get(d)
                            && starts.get(d) <= limits.get(d)
                            && limits.get(d) <= operand.dim(d)
                            && strides.get(d) > 0,
                    "The range %s of %s of slice must lie within its operand (%s) and have a positive stride.",
                    d,
                    ranges(),
                    operand);
            dims[d] = (limits.get(d) - starts.get(d) + strides.get(d) - 1) / strides.get(d);
        }
        return operand.withDims(dims);
    }

    private String ranges() {
        List<String> parts = new ArrayList<>();
        for (int d = 0; d < starts.size(); d++) {
            String stride = strides.get(d) == 1 ? "" : ":" + strides.get(d);
            parts.add("[" + starts.get(d) + ":" + limits.get(d) + stride + "]");
        }
        return "{" + String.join(", ", parts) + "}";
    }

    private boolean takesAll(ArrayShape operand, int dim) {
        return starts.get(dim) == 0 && limits.get(dim) == operand.dim(dim) && strides.get(dim) == 1;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape operand = operands.get(0).asArray();
        ArrayShape part = result.asArray();
        return ShiftFactors.exchanging(
                        operand,
                        part,
                        d -> takesAll(operand, d),
                        d -> Halo.ofOutputs(
                                new Window.Dim(1, strides.get(d), -starts.get(d), 0), operand.dim(d), part.dim(d)))
                .build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public boolean readsAll(int operand) {
        return operand != 0;
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("slice", ranges());
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal out = Literal.zeros(self.array());
        long[] from = x.shape().strides();
        long offset = 0;
        for (int d = 0; d < from.length; d++) {
            offset += starts.get(d) * from[d];
            from[d] *= strides.get(d);
        }
        StridedCopy.copy(
                x, offset, from, out, 0, out.shape().strides(), out.shape().dims());
        return out;
    }

    /** Zeros around and between: a pad with the ranges turned round. */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Collections.singletonList(null);
        }
        ArrayShape operand = self.operand(0).array();
        List<Long> high = new ArrayList<>();
        List<Long> interior = new ArrayList<>();
        for (int d = 0; d < operand.rank(); d++) {
            long count = self.array().dim(d);
            long span = count == 0 ? 0 : (count - 1) * strides.get(d) + 1;
            high.add(operand.dim(d) - starts.get(d) - span);
            interior.add(strides.get(d) - 1);
        }
        OpBuilder b = context.build();
        Instruction zero = b.constant(operand.dtype(), 0);
        return Collections.singletonList(b.builder().add(new Pad(starts, high, interior), cotangent, zero));
    }

    @Override
    public Instruction localize(Localizer local) {
        ArrayShape whole = local.whole().operand(0).array();
        Instruction value = local.operands().get(0);
        List<Long> begins = new ArrayList<>(starts);
        List<Long> ends = new ArrayList<>(limits);
        for (int d = 0; d < whole.rank(); d++) {
            int factor = Halos.cut(local, local.rule().operands().get(0).get(d));
            if (factor >= 0) {
                value = Halos.extended(local, factor, Halos.of(local, factor), value, d, null);
                begins.set(d, 0L);
                ends.set(d, value.array().dim(d));
            } else if (takesAll(whole, d)) {
                ends.set(d, value.array().dim(d));
            }
        }
        return local.builder().add(new Slice(begins, ends, strides), value);
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Surrounds operand 0 with the scalar operand 1: {@code low} before, {@code high} after and {@code interior} between neighbours,
 * by dim. Negative low and high cut off (after the interior was filled in).
 */
public record Pad(List<Long> low, List<Long> high, List<Long> interior) implements Op {
    static final OpKind KIND = new OpKind("pad", Pad::parse);
    private static final Pattern DIM = Pattern.compile("(-?\\d+)_(-?\\d+)(?:_(\\d+))?");

    public Pad {
        low = List.copyOf(low);
        high = List.copyOf(high);
        interior = List.copyOf(interior);
    }

    private static Op parse(OpSource source) {
        String text = source.need("padding").trim();
        List<Long> low = new ArrayList<>();
        List<Long> high = new ArrayList<>();
        List<Long> interior = new ArrayList<>();
        if (!text.isEmpty()) {
            for (String part : text.split("x", -1)) {
                Matcher dim = DIM.matcher(part);
                if (!dim.matches()) {
                    throw new AttributeException(
                            "padding", "The padding (" + text + ") must have the form low_high or low_high_interior.");
                }
                low.add(Long.parseLong(dim.group(1)));
                high.add(Long.parseLong(dim.group(2)));
                interior.add(dim.group(3) == null ? 0L : Long.parseLong(dim.group(3)));
            }
        }
        return new Pad(low, high, interior);
    }

    @Override
    public String opcode() {
        return "pad";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        ArrayShape operand = Check.array(this, operands, 0);
        Check.that(
                operands.get(1).equals(ArrayShape.scalar(operand.dtype())),
                "The operand 1 (%s) of pad must be a scalar of the type of operand 0 (%s).",
                operands.get(1),
                operand);
        int rank = operand.rank();
        Check.that(
                low.size() == rank && high.size() == rank && interior.size() == rank,
                "The padding (%s) of pad must have as many entries as its operand (%s) has dims.",
                padding(),
                operand);
        long[] dims = new long[rank];
        for (int d = 0; d < rank; d++) {
            dims[d] = low.get(d) + high.get(d) + span(operand, d);
            Check.that(
                    interior.get(d) >= 0 && dims[d] >= 0,
                    "The padding (%s) of pad must leave at least 0 of dim %s of its operand (%s).",
                    padding(),
                    d,
                    operand);
        }
        return operand.withDims(dims);
    }

    /** Size of a dim with its interior filled in. */
    private long span(ArrayShape operand, int dim) {
        long size = operand.dim(dim);
        return size == 0 ? 0 : size + (size - 1) * interior.get(dim);
    }

    private String padding() {
        List<String> parts = new ArrayList<>();
        for (int d = 0; d < low.size(); d++) {
            String between = interior.get(d) == 0 ? "" : "_" + interior.get(d);
            parts.add(low.get(d) + "_" + high.get(d) + between);
        }
        return String.join("x", parts);
    }

    private boolean untouched(int dim) {
        return low.get(dim) == 0 && high.get(dim) == 0 && interior.get(dim) == 0;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape operand = operands.get(0).asArray();
        ArrayShape padded = result.asArray();
        return ShiftFactors.exchanging(
                        operand, padded, this::untouched, d -> Halo.ofOutputs(window(d), operand.dim(d), padded.dim(d)))
                .operand(List.of())
                .build();
    }

    /** The window of one element by which the result reads the operand. */
    private Window.Dim window(int dim) {
        return new Window.Dim(1, 1, low.get(dim), high.get(dim), interior.get(dim) + 1, 1, false);
    }

    /** Parts need other padding: what lies outside the operand becomes padding first. */
    @Override
    public Instruction localize(Localizer local) {
        Instruction value = local.operands().get(0);
        Instruction filler = local.operands().get(1);
        List<Long> before = new ArrayList<>(low);
        List<Long> after = new ArrayList<>(high);
        for (int d = 0; d < low.size(); d++) {
            int factor = Halos.cut(local, local.rule().operands().get(0).get(d));
            if (factor >= 0) {
                Halo halo = Halos.of(local, factor);
                value = Halos.extended(local, factor, halo, value, d, filler);
                Window.Dim window = halo.window(window(d), local.parts(factor));
                before.set(d, window.padLow());
                after.set(d, window.padHigh());
            }
        }
        return local.builder().add(new Pad(before, after, interior), value, filler);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0, 1));
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("padding", padding());
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        ArrayShape shape = self.array();
        Literal out = Literals.filled(shape, operands.get(1).literal());
        int rank = shape.rank();
        long[] from = x.shape().strides();
        long[] to = shape.strides();
        long[] extents = new long[rank];
        long fromOffset = 0;
        long toOffset = 0;
        for (int d = 0; d < rank; d++) {
            // Element i lands at low + i * step; first and last i that land inside.
            long step = interior.get(d) + 1;
            long first = Math.max(0, -Math.floorDiv(low.get(d), step));
            long last = Math.min(x.shape().dim(d) - 1, Math.floorDiv(shape.dim(d) - 1 - low.get(d), step));
            extents[d] = last - first + 1;
            fromOffset += first * from[d];
            toOffset += (low.get(d) + first * step) * to[d];
            to[d] *= step;
        }
        StridedCopy.copy(x, fromOffset, from, out, toOffset, to, extents);
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Arrays.asList(null, null);
        }
        OpBuilder b = context.build();
        ArrayShape operand = self.operand(0).array();
        Instruction zero = b.constant(operand.dtype(), 0);
        List<Long> none = low.stream().map(l -> 0L).toList();
        Instruction cut = b.builder()
                .add(
                        new Pad(
                                low.stream().map(l -> -l).toList(),
                                high.stream().map(h -> -h).toList(),
                                none),
                        cotangent,
                        zero);
        Instruction dx = b.builder()
                .add(
                        new Slice(
                                none,
                                Dims.list(cut.array()),
                                interior.stream().map(i -> i + 1).toList()),
                        cut);
        Instruction dvalue = b.sub(b.sumAll(cotangent), b.sumAll(dx));
        return List.of(dx, dvalue);
    }
}

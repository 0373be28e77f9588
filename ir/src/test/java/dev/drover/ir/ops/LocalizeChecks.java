package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TokenShape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;

/**
 * The property that everything parallel stands on: an op cut along its factors, each part localized and evaluated on its slices
 * of the operands, and the results put together again (reduced over the reduction factors that were cut), is the op itself.
 *
 * <p>Also checked: the rule's factors multiply to the dims, and the local results have the shapes that the rule says.
 */
final class LocalizeChecks {
    private static final int RANDOM_CUTS = 6;
    private static final int MOST_PARTS = 16;

    private LocalizeChecks() {}

    /** Checks every instruction of an HLO text's entry that is not a parameter, on random arguments. */
    static void checkAll(String hlo, long seed) {
        checkAll(HloReader.read("test", hlo).entry(), seed);
    }

    static void checkAll(Computation computation, long seed) {
        Random random = new Random(seed);
        List<Value> arguments = new ArrayList<>();
        for (Instruction parameter : computation.parameters()) {
            arguments.add(RandomValues.of(parameter.shape(), random));
        }
        for (Instruction instruction : computation.instructions()) {
            if (instruction.operands().isEmpty() && instruction.op() instanceof Parameter) {
                continue;
            }
            List<Value> operands = new ArrayList<>();
            for (Instruction operand : instruction.operands()) {
                operands.add(valueOf(computation, operand, arguments));
            }
            check(instruction, operands, random);
        }
    }

    /**
     * Checks each distinct op of a computation that can be cut and is not larger than {@code mostElements} in all, on random
     * operands (so only where an op takes any operands). Returns how many.
     */
    static int checkEach(Computation computation, long mostElements, long seed) {
        Random random = new Random(seed);
        Set<List<Object>> seen = new HashSet<>();
        for (Instruction instruction : computation.instructions()) {
            List<Shape> shapes = instruction.operandShapes();
            FactorRule rule = instruction.op().factors(shapes, instruction.shape());
            boolean cuttable = rule.factors().stream().anyMatch(f -> divisors(f).size() > 1);
            long elements = Stream.concat(Stream.of(instruction.shape()), shapes.stream())
                    .flatMap(shape -> shape.leaves().stream())
                    .mapToLong(ArrayShape::elements)
                    .sum();
            if (!cuttable
                    || elements > mostElements
                    || instruction.op() instanceof Parameter
                    || !seen.add(List.of(instruction.op().opcode(), rule.toString(), shapes, instruction.shape()))) {
                continue;
            }
            List<Value> operands =
                    shapes.stream().map(shape -> RandomValues.of(shape, random)).toList();
            check(instruction, operands, random);
        }
        return seen.size();
    }

    private static Value valueOf(Computation computation, Instruction wanted, List<Value> arguments) {
        ComputationBuilder builder = new ComputationBuilder("prefix");
        List<Instruction> copies = new ArrayList<>();
        for (Instruction instruction : computation.instructions()) {
            copies.add(builder.add(
                    instruction.op(),
                    instruction.operands().stream().map(o -> copies.get(o.id())).toList()));
        }
        return Evaluator.evaluate(builder.build(copies.get(wanted.id())), arguments);
    }

    /** Cuts each factor alone, then several at random. */
    static void check(Instruction whole, List<Value> operands, Random random) {
        FactorRule rule = whole.op().factors(whole.operandShapes(), whole.shape());
        checkSizes(whole, rule);
        Value expected = evaluate(whole.op(), whole.operandShapes(), operands);
        int factors = rule.factors().size();
        for (int f = 0; f < factors; f++) {
            for (long parts : divisors(rule.factors().get(f))) {
                if (parts > 1 && parts <= MOST_PARTS) {
                    long[] cut = ones(factors);
                    cut[f] = parts;
                    checkCut(whole, rule, operands, expected, cut);
                }
            }
        }
        for (int i = 0; i < RANDOM_CUTS && factors > 1; i++) {
            long[] cut = ones(factors);
            long all = 1;
            for (int f = 0; f < factors; f++) {
                List<Long> choices = divisors(rule.factors().get(f));
                long parts = choices.get(random.nextInt(choices.size()));
                if (all * parts <= MOST_PARTS) {
                    cut[f] = parts;
                    all *= parts;
                }
            }
            checkCut(whole, rule, operands, expected, cut);
        }
    }

    private static long[] ones(int count) {
        long[] ones = new long[count];
        Arrays.fill(ones, 1);
        return ones;
    }

    private static List<Long> divisors(Factor factor) {
        List<Long> out = new ArrayList<>(List.of(1L));
        for (long d = 2; d <= factor.size(); d++) {
            if (factor.cutsInto(d)) {
                out.add(d);
            }
        }
        return out;
    }

    private static void checkSizes(Instruction whole, FactorRule rule) {
        List<ArrayShape> operands = new ArrayList<>();
        whole.operandShapes().forEach(shape -> operands.addAll(shape.leaves()));
        assertThat(rule.operands()).as("operand leaves of %s", whole).hasSameSizeAs(operands);
        assertThat(rule.results())
                .as("result leaves of %s", whole)
                .hasSameSizeAs(whole.shape().leaves());
        long[] parts = ones(rule.factors().size());
        for (int i = 0; i < operands.size(); i++) {
            assertThat(local(rule, rule.operands().get(i), operands.get(i), parts))
                    .as("operand leaf %s of %s by rule %s", i, whole, rule)
                    .isEqualTo(operands.get(i));
        }
        for (int i = 0; i < rule.results().size(); i++) {
            ArrayShape leaf = whole.shape().leaves().get(i);
            assertThat(local(rule, rule.results().get(i), leaf, parts))
                    .as("result leaf %s of %s by rule %s", i, whole, rule)
                    .isEqualTo(leaf);
        }
    }

    private static ArrayShape local(FactorRule rule, List<List<Integer>> dims, ArrayShape shape, long[] parts) {
        assertThat(dims).as("dims of %s", shape).hasSize(shape.rank());
        long[] sizes = new long[dims.size()];
        for (int d = 0; d < sizes.length; d++) {
            sizes[d] = 1;
            if (spanned(rule, dims.get(d))) {
                sizes[d] = shape.dim(d);
                continue;
            }
            for (int f : dims.get(d)) {
                sizes[d] *= rule.factors().get(f).size() / parts[f];
            }
        }
        return shape.withDims(sizes);
    }

    /** Whether factors that exchange span a dim. Parts cannot exchange here, so these factors are never cut. */
    private static boolean spanned(FactorRule rule, List<Integer> dim) {
        return dim.stream().anyMatch(f -> rule.factors().get(f).spansDims());
    }

    /** For each local index of a dim, the index in the whole dim. */
    private static long[] indexes(FactorRule rule, List<Integer> dim, long wholeSize, long[] parts, long[] part) {
        if (spanned(rule, dim)) {
            return java.util.stream.LongStream.range(0, wholeSize).toArray();
        }
        long[] out = {0};
        for (int f : dim) {
            long size = rule.factors().get(f).size();
            long block = size / parts[f];
            long[] next = new long[Math.toIntExact(out.length * block)];
            int n = 0;
            for (long major : out) {
                for (long i = 0; i < block; i++) {
                    next[n++] = major * size + part[f] * block + i;
                }
            }
            out = next;
        }
        return out;
    }

    /** For each element of a part, its position in the whole array. */
    private static int[] positions(
            FactorRule rule, List<List<Integer>> dims, ArrayShape whole, long[] parts, long[] part) {
        int[] out = {0};
        for (int d = 0; d < dims.size(); d++) {
            long[] indexes = indexes(rule, dims.get(d), whole.dim(d), parts, part);
            int[] next = new int[out.length * indexes.length];
            int n = 0;
            for (int major : out) {
                for (long index : indexes) {
                    next[n++] = Math.toIntExact(major * whole.dim(d) + index);
                }
            }
            out = next;
        }
        return out;
    }

    private static void checkCut(
            Instruction whole, FactorRule rule, List<Value> operands, Value expected, long[] parts) {
        String label = whole + " by " + rule + " cut into " + Arrays.toString(parts);
        List<Literal> expectedLeaves = leaves(expected);
        // Partial results by the parts of the reduction factors.
        Map<List<Long>, List<Literal>> partials = new LinkedHashMap<>();
        Map<List<Long>, List<boolean[]>> written = new LinkedHashMap<>();
        long[] part = new long[parts.length];
        do {
            List<Literal> local = leaves(evaluatePart(whole, rule, operands, parts, part, label));
            List<Long> key = new ArrayList<>();
            for (int f = 0; f < parts.length; f++) {
                key.add(rule.factors().get(f).kind() == Factor.Kind.REDUCTION ? part[f] : 0);
            }
            List<Literal> sums = partials.computeIfAbsent(
                    key,
                    k -> expectedLeaves.stream()
                            .map(l -> Literal.zeros(l.shape()))
                            .toList());
            List<boolean[]> marks = written.computeIfAbsent(
                    key,
                    k -> expectedLeaves.stream().map(l -> new boolean[l.size()]).toList());
            for (int leaf = 0; leaf < local.size(); leaf++) {
                ArrayShape shape = expectedLeaves.get(leaf).shape();
                int[] at = positions(rule, rule.results().get(leaf), shape, parts, part);
                for (int i = 0; i < at.length; i++) {
                    if (marks.get(leaf)[at[i]]) {
                        assertThat(element(local.get(leaf), i))
                                .as("the same element on two parts of %s", label)
                                .isEqualTo(element(sums.get(leaf), at[i]));
                    }
                    sums.get(leaf).copyElement(local.get(leaf), i, at[i]);
                    marks.get(leaf)[at[i]] = true;
                }
            }
        } while (next(part, parts));
        for (List<boolean[]> marks : written.values()) {
            for (boolean[] leaf : marks) {
                assertThat(leaf)
                        .as("elements written by the parts of %s", label)
                        .doesNotContain(false);
            }
        }
        List<Literal> actual = combine(rule, new ArrayList<>(partials.values()));
        boolean exact = partials.size() == 1;
        for (int leaf = 0; leaf < actual.size(); leaf++) {
            assertClose(actual.get(leaf), expectedLeaves.get(leaf), exact, label);
        }
    }

    private static boolean next(long[] part, long[] parts) {
        for (int f = parts.length - 1; f >= 0; f--) {
            if (++part[f] < parts[f]) {
                return true;
            }
            part[f] = 0;
        }
        return false;
    }

    private static List<Literal> combine(FactorRule rule, List<List<Literal>> partials) {
        if (partials.size() == 1) {
            return partials.get(0);
        }
        List<Reduction> reductions = rule.factors().stream()
                .map(Factor::reduction)
                .filter(Objects::nonNull)
                .distinct()
                .toList();
        assertThat(reductions).as("kinds of reductions of one op").hasSize(1);
        List<Literal> out = new ArrayList<>();
        for (int leaf = 0; leaf < partials.get(0).size(); leaf++) {
            ArrayShape shape = partials.get(0).get(leaf).shape();
            Instruction sum = null;
            ComputationBuilder builder = new ComputationBuilder("combine");
            List<Value> arguments = new ArrayList<>();
            for (List<Literal> partial : partials) {
                arguments.add(partial.get(leaf));
                Instruction parameter = builder.parameter("p", shape);
                sum = sum == null ? parameter : builder.add(Reducers.op(reductions.get(0), shape), sum, parameter);
            }
            out.add(Evaluator.evaluate(builder.build(Objects.requireNonNull(sum)), arguments)
                    .literal());
        }
        return out;
    }

    private static List<Object> element(Literal literal, int index) {
        if (literal.dtype().isComplex()) {
            return List.of(literal.doubles()[2 * index], literal.doubles()[2 * index + 1]);
        }
        return literal.dtype().isFloat() ? List.of(literal.doubles()[index]) : List.of(literal.longs()[index]);
    }

    private static void assertClose(Literal actual, Literal expected, boolean exact, String label) {
        assertThat(actual.shape()).as(label).isEqualTo(expected.shape());
        if (exact || actual.doubles().length == 0) {
            for (int i = 0; i < actual.size(); i++) {
                assertThat(element(actual, i)).as("element %s of %s", i, label).isEqualTo(element(expected, i));
            }
            return;
        }
        double unit = switch (expected.dtype()) {
            case F64 -> 1e-12;
            case F32, C64 -> 1e-5;
            default -> 0.05;
        };
        for (int i = 0; i < actual.doubles().length; i++) {
            double wanted = expected.doubles()[i];
            assertThat(actual.doubles()[i])
                    .as("element %s of %s", i, label)
                    .isCloseTo(wanted, Offset.offset(unit * (1 + Math.abs(wanted))));
        }
    }

    private static Value evaluatePart(
            Instruction whole, FactorRule rule, List<Value> operands, long[] parts, long[] part, String label) {
        ComputationBuilder builder = new ComputationBuilder("part");
        List<Instruction> locals = new ArrayList<>();
        List<Value> arguments = new ArrayList<>();
        int leaf = 0;
        for (int i = 0; i < operands.size(); i++) {
            List<Literal> pieces = new ArrayList<>();
            for (Literal literal : leaves(operands.get(i))) {
                List<List<Integer>> dims = rule.operands().get(leaf++);
                Literal piece = Literal.zeros(local(rule, dims, literal.shape(), parts));
                int[] at = positions(rule, dims, literal.shape(), parts, part);
                for (int e = 0; e < at.length; e++) {
                    piece.copyElement(literal, at[e], e);
                }
                pieces.add(piece);
            }
            Shape wholeShape = whole.operand(i).shape();
            Iterator<Literal> iterator = pieces.iterator();
            Value value = rebuild(wholeShape, iterator);
            arguments.add(value);
            locals.add(builder.parameter("operand" + i, shapeOf(value)));
        }
        Instruction result =
                whole.op().localize(new Part(builder, locals, whole, rule, Dims.list(parts), Dims.list(part)));
        Shape got = result.shape();
        for (int r = 0; r < rule.results().size(); r++) {
            assertThat(got.leaves().get(r))
                    .as("local result leaf %s of %s", r, label)
                    .isEqualTo(local(
                            rule, rule.results().get(r), whole.shape().leaves().get(r), parts));
        }
        return Evaluator.evaluate(builder.build(result), arguments);
    }

    private static Value evaluate(Op op, List<Shape> shapes, List<Value> operands) {
        ComputationBuilder builder = new ComputationBuilder("whole");
        List<Instruction> parameters = new ArrayList<>();
        for (Shape shape : shapes) {
            parameters.add(builder.parameter("operand", shape));
        }
        return Evaluator.evaluate(builder.build(builder.add(op, parameters)), operands);
    }

    private static Value rebuild(Shape shape, Iterator<Literal> leaves) {
        if (shape instanceof TupleShape tuple) {
            List<Value> elements = new ArrayList<>();
            for (Shape element : tuple.elements()) {
                elements.add(rebuild(element, leaves));
            }
            return new Value.Tuple(elements);
        }
        return shape instanceof ArrayShape ? leaves.next() : new Value.Token();
    }

    private static Shape shapeOf(Value value) {
        if (value instanceof Value.Tuple tuple) {
            return new TupleShape(
                    tuple.elements().stream().map(LocalizeChecks::shapeOf).toList());
        }
        return value instanceof Literal literal ? literal.shape() : TokenShape.TOKEN;
    }

    private static List<Literal> leaves(Value value) {
        List<Literal> out = new ArrayList<>();
        if (value instanceof Literal literal) {
            out.add(literal);
        } else if (value instanceof Value.Tuple tuple) {
            tuple.elements().forEach(element -> out.addAll(leaves(element)));
        }
        return out;
    }

    private record Part(
            ComputationBuilder builder,
            List<Instruction> operands,
            Instruction whole,
            FactorRule rule,
            List<Long> partsByFactor,
            List<Long> partByFactor)
            implements Localizer {

        @Override
        public long parts(int factor) {
            return partsByFactor.get(factor);
        }

        @Override
        public Instruction partIndex(int factor) {
            return builder.add(Constant.of(Literal.scalar(DType.S32, (double) partByFactor.get(factor))));
        }

        @Override
        public ArrayShape localResult(int leaf) {
            return local(rule, rule.results().get(leaf), whole.shape().leaves().get(leaf), Dims.array(partsByFactor));
        }
    }
}

package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.models.BatchInput;
import dev.drover.models.Model;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;

/** Runs computations on libtorch and by the reference evaluator, and compares. */
final class Check {
    private Check() {}

    /** Builds a computation over parameters of these shapes. */
    static Computation build(List<ArrayShape> shapes, BiFunction<OpBuilder, List<Instruction>, Instruction> body) {
        ComputationBuilder builder = new ComputationBuilder("test");
        List<Instruction> parameters = new ArrayList<>();
        for (int i = 0; i < shapes.size(); i++) {
            parameters.add(builder.parameter("p" + i, shapes.get(i)));
        }
        return builder.build(body.apply(new OpBuilder(builder), parameters));
    }

    /** Initial values and random tokens for a training step of the zoo. */
    static List<Literal> inputs(Model model) {
        Random random = new Random(4);
        List<Literal> inputs = new ArrayList<>();
        model.initialValues().forEach(spec -> inputs.add(InitialValues.fill(spec, 1)));
        for (BatchInput input : model.batch()) {
            long[] tokens = new long[(int) input.shape().elements()];
            Arrays.setAll(tokens, i -> random.nextInt((int) input.limit()));
            inputs.add(Literal.ofLongs(input.shape(), tokens));
        }
        return inputs;
    }

    /** Compares on random inputs; gives what libtorch computed. */
    static List<Literal> same(TorchMemory memory, Computation computation, long seed) {
        List<Literal> inputs = new ArrayList<>();
        Random random = new Random(seed);
        for (Instruction parameter : computation.parameters()) {
            for (ArrayShape leaf : parameter.shape().leaves()) {
                inputs.add(random(leaf, random));
            }
        }
        return same(memory, computation, inputs);
    }

    static List<Literal> same(TorchMemory memory, Computation computation, List<Literal> inputs) {
        List<Literal> expected = new ArrayList<>();
        List<Value> arguments = new ArrayList<>();
        int at = 0;
        for (Instruction parameter : computation.parameters()) {
            int leaves = parameter.shape().leaves().size();
            boolean tuple = !(parameter.shape() instanceof ArrayShape);
            arguments.add(tuple ? new Value.Tuple(List.copyOf(inputs.subList(at, at + leaves))) : inputs.get(at));
            at += leaves;
        }
        collect(Evaluator.evaluate(computation, arguments), expected);
        try (TorchProgram program = TorchProgram.compile(computation, TorchOptions.of(memory))) {
            List<Literal> actual = program.runLiterals(inputs);
            assertThat(actual).hasSameSizeAs(expected);
            for (int i = 0; i < actual.size(); i++) {
                close(describe(computation) + " output " + i, expected.get(i), actual.get(i));
            }
            List<Literal> again = program.runLiterals(inputs);
            assertThat(again).as("a second run of %s", computation).isEqualTo(actual);
            return actual;
        }
    }

    private static String describe(Computation computation) {
        return computation.instructions().toString();
    }

    private static void collect(Value value, List<Literal> out) {
        if (value instanceof Literal literal) {
            out.add(literal);
        } else if (value instanceof Value.Tuple tuple) {
            tuple.elements().forEach(element -> collect(element, out));
        }
    }

    /** Relative to the larger of the element and 1: rounding of the type, times what sums and library functions add. */
    static double tolerance(DType dtype) {
        return switch (dtype) {
            case F64 -> 1e-12;
            case F32 -> 3e-6;
            case C64 -> 2e-5;
            case F16 -> 2e-3;
            case BF16 -> 1.6e-2;
            case F8E4M3FN -> 0.13;
            case F8E5M2 -> 0.26;
            default -> 0;
        };
    }

    static void close(String what, Literal expected, Literal actual) {
        assertThat(actual.shape()).as(what).isEqualTo(expected.shape());
        double tolerance = tolerance(expected.dtype());
        double[] e = expected.doubles();
        double[] a = actual.doubles();
        for (int i = 0; i < e.length; i++) {
            boolean same = Double.compare(e[i], a[i]) == 0
                    || (Double.isNaN(e[i]) && Double.isNaN(a[i]))
                    || Math.abs(e[i] - a[i]) <= tolerance * Math.max(1, Math.abs(e[i]));
            assertThat(same)
                    .as("%s element %s: expected %s, was %s", what, i, e[i], a[i])
                    .isTrue();
        }
        assertThat(actual.longs()).as(what).isEqualTo(expected.longs());
    }

    static Literal random(ArrayShape shape, Random random) {
        DType dtype = shape.dtype();
        if (dtype.isFloat() || dtype.isComplex()) {
            double[] values = new double[(int) shape.elements() * (dtype.isComplex() ? 2 : 1)];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextDouble() * 4 - 2;
            }
            return Literal.ofDoubles(shape, values);
        }
        long[] values = new long[(int) shape.elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = dtype == DType.PRED ? random.nextInt(2) : random.nextInt(9) - 3;
        }
        return Literal.ofLongs(shape, values);
    }

    /** Random elements with those among them where rounding, wrapping and special cases show. */
    static Literal special(ArrayShape shape, Random random) {
        DType dtype = shape.dtype();
        Literal literal = random(shape, random);
        double[] floats = {0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, Double.NaN, Double.POSITIVE_INFINITY, 3.25, -1.5};
        long low = dtype.family() == DType.Family.SIGNED ? -1L << (dtype.bits() - 1) : 0;
        long[] longs = {0, 1, -1, low, ~low, 7, 100, dtype.bits(), dtype.bits() - 1, 2, 3};
        for (int i = 0; i < literal.longs().length; i++) {
            if (random.nextInt(3) > 0) {
                literal.longs()[i] = dev.drover.ir.eval.Rounding.wrap(dtype, longs[random.nextInt(longs.length)]);
            }
        }
        for (int i = 0; i < literal.doubles().length && dtype.isFloat(); i++) {
            if (random.nextInt(3) > 0) {
                literal.doubles()[i] = dev.drover.ir.eval.Rounding.round(dtype, floats[random.nextInt(floats.length)]);
            }
        }
        return literal;
    }
}

package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.assertj.core.data.Offset;

/**
 * The claim of {@link Op#linearGroups}: with the operands of a group split into two sums and the others held, the results of the
 * two add up to the whole result.
 */
final class LinearChecks {
    private LinearChecks() {}

    /** Checks the root of an HLO text's entry, whose operands are parameters, and that it claims this many groups. */
    static void checkRoot(String hlo, int groups, long seed) {
        Computation computation = HloReader.read("test", hlo).entry();
        Instruction root = computation.root();
        Random random = new Random(seed);
        List<Value> arguments = new ArrayList<>();
        for (Instruction parameter : computation.parameters()) {
            arguments.add(RandomValues.of(parameter.shape(), random));
        }
        assertThat(root.op().linearGroups()).as("linear groups of %s", root).hasSize(groups);
        for (Set<Integer> group : root.op().linearGroups()) {
            List<Value> first = new ArrayList<>(arguments);
            List<Value> second = new ArrayList<>(arguments);
            for (int index : group) {
                Instruction operand = root.operand(index);
                int parameter = operand.op() instanceof Parameter p ? p.number() : -1;
                assertThat(parameter)
                        .as("operand %s of %s must be a parameter", index, root)
                        .isNotNegative();
                Value part = RandomValues.of(operand.shape(), random);
                first.set(parameter, part);
                second.set(parameter, combine(BinaryKind.SUBTRACT, arguments.get(parameter), part));
            }
            Value sum = combine(
                    BinaryKind.ADD, Evaluator.evaluate(computation, first), Evaluator.evaluate(computation, second));
            assertClose(sum, Evaluator.evaluate(computation, arguments), root + " in " + group);
        }
    }

    private static Value combine(BinaryKind kind, Value x, Value y) {
        if (x instanceof Value.Tuple left && y instanceof Value.Tuple right) {
            List<Value> elements = new ArrayList<>();
            for (int i = 0; i < left.elements().size(); i++) {
                elements.add(
                        combine(kind, left.elements().get(i), right.elements().get(i)));
            }
            return new Value.Tuple(elements);
        }
        ComputationBuilder builder = new ComputationBuilder("combine");
        Instruction a = builder.parameter("a", x.literal().shape());
        Instruction b = builder.parameter("b", y.literal().shape());
        return Evaluator.evaluate(builder.build(builder.add(new Binary(kind), a, b)), List.of(x, y));
    }

    private static void assertClose(Value actual, Value expected, String label) {
        if (actual instanceof Value.Tuple left && expected instanceof Value.Tuple right) {
            for (int i = 0; i < left.elements().size(); i++) {
                assertClose(left.elements().get(i), right.elements().get(i), label);
            }
            return;
        }
        Literal want = expected.literal();
        double unit = want.dtype().bits() == 64 && !want.dtype().isComplex() ? 1e-12 : 1e-5;
        for (int i = 0; i < want.doubles().length; i++) {
            assertThat(actual.literal().doubles()[i])
                    .as("element %s of %s", i, label)
                    .isCloseTo(want.doubles()[i], Offset.offset(unit * (1 + Math.abs(want.doubles()[i]))));
        }
        assertThat(actual.literal().longs()).as(label).isEqualTo(want.longs());
    }
}

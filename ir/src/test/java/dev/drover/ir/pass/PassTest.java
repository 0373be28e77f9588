package dev.drover.ir.pass;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Call;
import dev.drover.ir.ops.Fusion;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PassTest {
    private static final ArrayShape VECTOR = ArrayShape.of(DType.F64, 2);

    /** {@code f(a, b) = a - b * b}. */
    private static Computation function() {
        ComputationBuilder builder = new ComputationBuilder("f");
        Instruction a = builder.parameter("a", VECTOR);
        Instruction b = builder.parameter("b", VECTOR);
        OpBuilder ops = new OpBuilder(builder);
        return builder.build(ops.sub(a, ops.mul(b, b)));
    }

    @Test
    void deadCodeGoesAndParametersStay() {
        ComputationBuilder builder = new ComputationBuilder("main");
        OpBuilder ops = new OpBuilder(builder);
        Instruction x = builder.parameter("x", VECTOR);
        builder.parameter("unused", VECTOR);
        Instruction y = ops.mul(x, x);
        ops.exp(ops.add(y, y));
        Graph graph = new Graph("g", builder.build(ops.add(y, x)));
        Computation lean = DeadCode.drop(graph).entry();
        assertThat(lean.instructions().stream().map(Instruction::name))
                .containsExactly("x", "unused", y.name(), graph.entry().root().name());
        Graph again = new Graph("g", lean);
        assertThat(DeadCode.drop(again)).isSameAs(again);
    }

    @Test
    void callsAndFusionsAreInlinedAtAnyDepth() {
        ComputationBuilder middle = new ComputationBuilder("middle");
        Instruction p = middle.parameter("p", VECTOR);
        Instruction q = middle.parameter("q", VECTOR);
        Computation outer = middle.build(middle.add(new Fusion("kLoop", function()), q, p));
        ComputationBuilder builder = new ComputationBuilder("main");
        Instruction x = builder.parameter("x", VECTOR);
        Instruction y = builder.parameter("y", VECTOR);
        Instruction called = builder.add(new Call(outer), x, y);
        Graph graph = new Graph("g", builder.build(builder.add(new Call(function()), called, y)));
        Graph inlined = Flatten.run(graph);
        assertThat(inlined.computations()).containsExactly(inlined.entry());
        List<Value> arguments = List.of(
                Literal.ofDoubles(VECTOR, new double[] {1, 2}), Literal.ofDoubles(VECTOR, new double[] {3, -5}));
        Value.Tuple outputs = (Value.Tuple) Evaluator.evaluate(inlined.entry(), arguments);
        assertThat(outputs.elements()).hasSize(1);
        assertThat(outputs.elements().get(0))
                .isEqualTo(Evaluator.evaluate(graph.entry(), arguments))
                .isEqualTo(Literal.ofDoubles(VECTOR, new double[] {3 - 1 - 9, -5 - 4 - 25}));
    }
}

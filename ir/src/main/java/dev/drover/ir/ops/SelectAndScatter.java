package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The gradient of max pooling: for each window position of {@code operand}, {@code select} picks one element (the earlier one as long as
 * {@code select(earlier, later)} holds), and the source's element is folded by {@code scatter} into that place of the result,
 * which starts as the initial value. Operands: array {@code [A..]}, source {@code [S..]}, initial scalar; result {@code [A..]}.
 */
public record SelectAndScatter(Window window, Computation select, Computation scatter) implements Op {
    static final OpKind KIND = new OpKind(
            "select-and-scatter",
            source -> new SelectAndScatter(
                    ReduceWindow.windowOf(source, "window"),
                    source.computation("select"),
                    source.computation("scatter")));

    @Override
    public String opcode() {
        return "select-and-scatter";
    }

    @Override
    public List<Computation> calls() {
        return List.of(select, scatter);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new SelectAndScatter(window, callees.get(0), callees.get(1));
    }

    @Override
    public void print(OpWriter writer) {
        if (window.rank() > 0) {
            writer.attribute("window", window.toString());
        }
        writer.computation("select", select);
        writer.computation("scatter", scatter);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 3);
        ArrayShape array = Check.array(this, operands, 0);
        ArrayShape source = Check.array(this, operands, 1);
        ArrayShape init = Check.array(this, operands, 2);
        Check.that(
                array.rank() == window.rank() && source.rank() == window.rank(),
                "The window (%s) of select-and-scatter must have the rank of its operands (%s and %s).",
                window,
                array,
                source);
        for (int d = 0; d < window.rank(); d++) {
            Check.that(
                    window.dim(d).outputs(array.dim(d)) == source.dim(d),
                    "The source (%s) of select-and-scatter must have an element for each position of the window (%s) over %s.",
                    source,
                    window,
                    array);
        }
        Check.that(
                init.equals(ArrayShape.scalar(source.dtype())),
                "The initial value (%s) of select-and-scatter must be a scalar of the type of its source (%s).",
                init,
                source);
        return array.withDType(source.dtype());
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> array = new ArrayList<>();
        List<List<Integer>> source = new ArrayList<>();
        ReduceWindow.windowDims(
                rule, window, operands.get(0).asArray(), operands.get(1).asArray(), array, source);
        return rule.operand(array)
                .operand(source)
                .operand(List.of())
                .result(array)
                .build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return Reducers.of(scatter) == Reduction.SUM ? List.of(Set.of(1, 2)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return operands.get(1).asArray().elements() * (window.elements() + 1);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal array = operands.get(0).literal();
        Literal source = operands.get(1).literal();
        Literal result = Folds.filled(self.array(), operands.get(2).literal());
        Folds folds = new Folds(context, scatter);
        WindowWalk walk = new WindowWalk(window, array.shape(), source.shape());
        int chosen = -1;
        boolean more = walk.any();
        while (more) {
            int output = walk.output();
            int input = walk.input();
            if (input >= 0 && (chosen < 0 || !keeps(context, array, chosen, input))) {
                chosen = input;
            }
            more = walk.next();
            if (!more || walk.atFirstTap()) {
                if (chosen >= 0) {
                    folds.fold(List.of(result), chosen, List.of(source), output);
                }
                chosen = -1;
            }
        }
        folds.finish(List.of(result));
        return result;
    }

    private boolean keeps(EvalContext context, Literal array, int earlier, int later) {
        List<Value> arguments = List.of(Folds.scalar(array, earlier), Folds.scalar(array, later));
        return context.call(select, arguments).literal().asLong(0) != 0;
    }
}

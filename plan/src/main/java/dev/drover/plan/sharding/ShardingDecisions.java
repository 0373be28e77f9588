package dev.drover.plan.sharding;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.mesh.Mesh;
import java.util.ArrayList;
import java.util.List;

/**
 * What is decided about one flat computation on one mesh.
 *
 * @param strategies by instruction id; those of get-tuple-element and tuple are not read
 * @param outputs the sharding that each output must end with, none of them partial
 */
public record ShardingDecisions(List<OpStrategy> strategies, List<Sharding> outputs) {
    public ShardingDecisions {
        strategies = List.copyOf(strategies);
        outputs = List.copyOf(outputs);
    }

    /**
     * Strategies with the outputs where they belong: an update ends where its parameter is, others where they are made, but complete.
     *
     * @param updatedParameters by output: the parameter that it updates, or -1
     */
    public static ShardingDecisions of(
            Computation flat, List<Integer> updatedParameters, List<OpStrategy> strategies, Mesh mesh) {
        List<Instruction> outputs =
                flat.root().op() instanceof Tuple ? flat.root().operands() : List.of(flat.root());
        List<Sharding> ends = new ArrayList<>();
        for (int i = 0; i < outputs.size(); i++) {
            int parameter = updatedParameters.get(i);
            Instruction end = parameter >= 0 ? flat.parameters().get(parameter) : outputs.get(i);
            Source source = Source.of(end);
            ends.add(new OpShardings(source.producer(), mesh)
                    .result(strategies.get(source.producer().id()), source.leaf())
                    .withoutPartial());
        }
        return new ShardingDecisions(strategies, ends);
    }
}

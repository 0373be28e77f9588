package dev.drover.plan.sharding;

import java.util.List;

/**
 * What is decided about one flat computation on one mesh.
 *
 * @param strategies by instruction id; those of get-tuple-element and the root tuple are not read
 * @param outputs the sharding that each output must end with, none of them partial
 */
public record ShardingDecisions(List<OpStrategy> strategies, List<Sharding> outputs) {
    public ShardingDecisions {
        strategies = List.copyOf(strategies);
        outputs = List.copyOf(outputs);
    }
}

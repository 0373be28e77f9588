package dev.drover.planner.spmd;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.sharding.Source;
import dev.drover.solver.Solution;
import dev.drover.solver.StrategyProblem;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The choice of shardings as integers for the strategy solver (Rhino, the SPMD program; costs are times here, not bytes):
 *
 * <pre>
 *   node    an instruction; a strategy of its {@link StrategySet}
 *           cost   repeats * roofline time of a device's piece, and of exchanging halos if its strategy does
 *           usage  bytes of a device's piece of the result, times copies in flight, while it is alive
 *   edge    producer -> user: repeats * time of the cheapest path between the sharding made and the one needed
 *           update -> parameter: the new state must come back to where the old one was
 *   time    position in the computation, each stage in a range of its own, so that one limit holds for every stage
 * </pre>
 */
public final class SpmdProblem {
    private final SpmdInput input;
    private final InstructionCost instructionCost;
    private final Resharder resharder;
    private final StrategySet.Cache sets;
    private final int[] nodeById;
    private final List<Instruction> instructionByNode = new ArrayList<>();
    private final Map<MatrixKey, long[]> matrixByKey = new HashMap<>();
    private final Map<CostKey, long[]> costsByKey = new HashMap<>();

    private record MatrixKey(StrategySet from, int leaf, StrategySet to, int operand, long repeats, ArrayShape shape) {}

    private record CostKey(StrategySet set, long repeats) {}

    public SpmdProblem(SpmdInput input, InstructionCost instructionCost, Resharder resharder) {
        this.input = input;
        this.instructionCost = instructionCost;
        this.resharder = resharder;
        this.sets = new StrategySet.Cache(resharder.mesh());
        this.nodeById = new int[input.flat().size()];
    }

    private Mesh mesh() {
        return resharder.mesh();
    }

    private Computation flat() {
        return input.flat();
    }

    private List<Source> outputs() {
        Instruction root = flat().root();
        List<Instruction> values = root.op() instanceof Tuple ? root.operands() : List.of(root);
        return values.stream().map(Source::of).toList();
    }

    /** The integer problem. */
    public StrategyProblem build() {
        StrategyProblem.Builder builder = StrategyProblem.builder(flat().name());
        builder.usageLimit(input.memoryLimitBytes());
        Liveness liveness = Liveness.of(input);
        for (Instruction instruction : flat().instructions()) {
            if (!Source.isWiring(instruction)) {
                StrategySet set = sets.of(instruction);
                long offset = (long) input.stage(instruction) * (flat().size() + 1);
                nodeById[instruction.id()] = builder.node(
                        offset + liveness.start(instruction),
                        offset + liveness.end(instruction),
                        costs(instruction, set),
                        usages(instruction, set, liveness.copies(instruction)));
                instructionByNode.add(instruction);
            }
        }
        for (Instruction user : instructionByNode) {
            List<Source> operands = Source.ofOperands(user);
            for (int i = 0; i < operands.size(); i++) {
                Source source = operands.get(i);
                long repeats = input.repeats(source.producer());
                builder.edge(
                        nodeById[source.producer().id()], nodeById[user.id()], edge(source, sets.of(user), i, repeats));
            }
        }
        List<Source> outputs = outputs();
        for (int i = 0; i < outputs.size(); i++) {
            int parameter = input.updatedParameter(i);
            Source made = outputs.get(i);
            if (parameter >= 0
                    && nodeById[made.producer().id()]
                            != nodeById[parameter(parameter).id()]) {
                builder.edge(
                        nodeById[made.producer().id()],
                        nodeById[parameter(parameter).id()],
                        tie(made, sets.of(parameter(parameter))));
            }
        }
        return builder.build();
    }

    private Instruction parameter(int number) {
        return flat().parameters().get(number);
    }

    private long[] costs(Instruction instruction, StrategySet set) {
        long[] base = costsByKey.computeIfAbsent(
                new CostKey(set, input.repeats(instruction)), key -> computeCosts(instruction, set));
        List<Integer> free = input.freeOutputsOf(instruction);
        if (free.isEmpty()) {
            return base;
        }
        long[] costs = base.clone();
        List<Source> outputs = outputs();
        for (int output : free) {
            Source made = outputs.get(output);
            for (int s = 0; s < costs.length; s++) {
                Sharding sharding = set.results().get(s).get(made.leaf());
                costs[s] += Math.round(resharder.nanos(made.shape(), sharding, sharding.withoutPartial()));
            }
        }
        return costs;
    }

    private long[] computeCosts(Instruction instruction, StrategySet set) {
        long[] costs = new long[set.size()];
        double flops = instruction.op().flops(instruction.operandShapes(), instruction.shape());
        OpShardings shardings = new OpShardings(instruction, mesh());
        for (int s = 0; s < costs.length; s++) {
            OpStrategy strategy = set.strategies().get(s);
            if (shardings.exchanges(strategy)) {
                LocalTime time = LocalTime.of(shardings, strategy, instructionCost, resharder);
                costs[s] = Math.round((time.computeNanos() + time.exchangeNanos()) * input.repeats(instruction));
                continue;
            }
            List<ArrayShape> operands = new ArrayList<>();
            for (int i = 0; i < shardings.operands(); i++) {
                operands.add(set.operands().get(s).get(i).local(shardings.operandShape(i), mesh()));
            }
            List<ArrayShape> results = locals(instruction, set, s);
            double nanos =
                    instructionCost.nanos(instruction, flops / set.divisions().get(s), operands, results);
            costs[s] = Math.round(nanos * input.repeats(instruction));
        }
        return costs;
    }

    private List<ArrayShape> locals(Instruction instruction, StrategySet set, int strategy) {
        List<ArrayShape> leaves = instruction.shape().leaves();
        List<ArrayShape> locals = new ArrayList<>();
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            locals.add(set.results().get(strategy).get(leaf).local(leaves.get(leaf), mesh()));
        }
        return locals;
    }

    private long[] usages(Instruction instruction, StrategySet set, long copies) {
        long[] usages = new long[set.size()];
        for (int s = 0; s < usages.length; s++) {
            for (ArrayShape local : locals(instruction, set, s)) {
                usages[s] += local.sizeBytes() * copies;
            }
        }
        return usages;
    }

    private long[] edge(Source source, StrategySet to, int operand, long repeats) {
        StrategySet from = sets.of(source.producer());
        return matrixByKey.computeIfAbsent(
                new MatrixKey(from, source.leaf(), to, operand, repeats, source.shape()), key -> {
                    long[] matrix = new long[from.size() * to.size()];
                    Map<Long, Long> known = new HashMap<>();
                    for (int f = 0; f < from.size(); f++) {
                        for (int t = 0; t < to.size(); t++) {
                            Sharding made = from.results().get(f).get(source.leaf());
                            Sharding needed = to.operands().get(t).get(operand);
                            long pair = (long) System.identityHashCode(made) << 32 ^ System.identityHashCode(needed);
                            long nanos = known.computeIfAbsent(
                                    pair, p -> Math.round(resharder.nanos(source.shape(), made, needed)));
                            matrix[f * to.size() + t] = nanos * repeats;
                        }
                    }
                    return matrix;
                });
    }

    private long[] tie(Source made, StrategySet parameter) {
        StrategySet from = sets.of(made.producer());
        long[] matrix = new long[from.size() * parameter.size()];
        for (int f = 0; f < from.size(); f++) {
            for (int p = 0; p < parameter.size(); p++) {
                matrix[f * parameter.size() + p] = Math.round(resharder.nanos(
                        made.shape(),
                        from.results().get(f).get(made.leaf()),
                        parameter.results().get(p).get(0)));
            }
        }
        return matrix;
    }

    /** What a solution's choices decide. */
    public ShardingDecisions decisions(Solution solution) {
        return decisions(solution.choices());
    }

    /** What one choice per node decides: strategies, and outputs that end where their parameter is. */
    public ShardingDecisions decisions(List<Integer> choices) {
        List<OpStrategy> strategies = new ArrayList<>();
        int rank = mesh().rank();
        for (Instruction instruction : flat().instructions()) {
            strategies.add(
                    !Source.isWiring(instruction)
                            ? sets.of(instruction).strategies().get(choices.get(nodeById[instruction.id()]))
                            : OpStrategy.replicated(rank));
        }
        return ShardingDecisions.of(flat(), input.updatedParameters(), strategies, mesh());
    }
}

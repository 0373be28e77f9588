package dev.drover.planner.spmd;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.sharding.Source;
import dev.drover.solver.SolverInputException;
import dev.drover.solver.StrategyProblem;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
    private final MeshPrices prices;
    private final int[] nodeById;
    private final List<Instruction> instructionByNode = new ArrayList<>();
    private final Map<CostKey, long[]> costsByKey = new HashMap<>();
    private final Map<Long, IdentityHashMap<long[], long[]>> scaledByRepeats = new HashMap<>();
    private final Liveness liveness;
    /** Made when first asked for: what the bounds need takes a small part of the time. */
    private @Nullable StrategyProblem integers;

    private record CostKey(StrategySet set, long repeats) {}

    /** The problem of one input. */
    public SpmdProblem(SpmdInput input, MeshPrices prices) {
        this.input = input;
        this.prices = prices;
        this.nodeById = new int[input.flat().size()];
        this.liveness = Liveness.of(input);
        for (Instruction instruction : flat().instructions()) {
            if (!Source.isWiring(instruction)) {
                nodeById[instruction.id()] = instructionByNode.size();
                instructionByNode.add(instruction);
            }
        }
    }

    /**
     * The integer problem.
     *
     * @throws UserError if times are so long that they cannot be added
     */
    public StrategyProblem integers(long memoryLimitBytes) {
        StrategyProblem made;
        try {
            made = integers == null ? build() : integers;
        } catch (ArithmeticException | SolverInputException e) {
            throw new UserError(
                    "The times of step (" + flat().name()
                            + ") on the devices of the cluster must add up to some years at most.",
                    "Maybe a speed of the cluster or of its links is by far too small.");
        }
        integers = made;
        return made.withUsageLimit(memoryLimitBytes);
    }

    private Computation flat() {
        return input.flat();
    }

    private StrategyProblem build() {
        StrategyProblem.Builder builder = StrategyProblem.builder(flat().name());
        List<Source> outputs = input.outputs().stream().map(Source::of).toList();
        Map<Integer, List<Source>> freeOutputsById = new HashMap<>();
        for (int i = 0; i < outputs.size(); i++) {
            if (input.updatedParameter(i) < 0) {
                freeOutputsById
                        .computeIfAbsent(outputs.get(i).producer().id(), id -> new ArrayList<>())
                        .add(outputs.get(i));
            }
        }
        for (Instruction instruction : instructionByNode) {
            long offset = firstTime(input.stage(instruction));
            builder.node(
                    offset + liveness.start(instruction),
                    offset + liveness.end(instruction),
                    costs(instruction, freeOutputsById.getOrDefault(instruction.id(), List.of())),
                    scaled(prices.bytes(instruction), liveness.copies(instruction)));
        }
        for (Instruction user : instructionByNode) {
            List<Source> operands = Source.ofOperands(user);
            for (int i = 0; i < operands.size(); i++) {
                Source source = operands.get(i);
                Instruction producer = source.producer();
                builder.edge(
                        nodeById[producer.id()],
                        nodeById[user.id()],
                        scaled(prices.moveNanos(producer, source.leaf(), user, i), input.repeats(producer)));
            }
        }
        for (int i = 0; i < outputs.size(); i++) {
            int parameter = input.updatedParameter(i);
            Instruction made = outputs.get(i).producer();
            if (parameter >= 0) {
                Instruction state = flat().parameters().get(parameter);
                if (nodeById[made.id()] != nodeById[state.id()]) {
                    builder.edge(
                            nodeById[made.id()],
                            nodeById[state.id()],
                            prices.tieNanos(made, outputs.get(i).leaf(), state));
                }
            }
        }
        return builder.build();
    }

    private long firstTime(int stage) {
        return (long) stage * (flat().size() + 1);
    }

    private long[] costs(Instruction instruction, List<Source> freeOutputs) {
        long repeats = input.repeats(instruction);
        long[] base = costsByKey.computeIfAbsent(new CostKey(prices.set(instruction), repeats), key -> {
            double[] nanos = prices.nanos(instruction);
            long[] costs = new long[nanos.length];
            for (int s = 0; s < costs.length; s++) {
                costs[s] = Math.round(nanos[s] * repeats);
                if (costs[s] >= StrategyProblem.FORBIDDEN) {
                    throw new ArithmeticException("too long");
                }
            }
            return costs;
        });
        if (freeOutputs.isEmpty()) {
            return base;
        }
        long[] costs = base.clone();
        for (Source made : freeOutputs) {
            long[] nanos = prices.completeNanos(instruction, made.leaf());
            for (int s = 0; s < costs.length; s++) {
                costs[s] = Math.addExact(costs[s], nanos[s]);
            }
        }
        return costs;
    }

    private long[] scaled(long[] values, long factor) {
        if (factor == 1) {
            return values;
        }
        return scaledByRepeats
                .computeIfAbsent(factor, f -> new IdentityHashMap<>())
                .computeIfAbsent(values, v -> {
                    long[] scaled = v.clone();
                    for (int i = 0; i < scaled.length; i++) {
                        scaled[i] = Math.multiplyExact(scaled[i], factor);
                    }
                    return scaled;
                });
    }

    /** By instruction id: what each program makes for itself. Not to be written. */
    boolean[] freeById() {
        return liveness.freeById();
    }

    /** Nanoseconds of an instruction with its quickest strategy, once. */
    double leastNanos(Instruction instruction) {
        return Source.isWiring(instruction) ? 0 : prices.leastNanos(instruction);
    }

    /** By stage: the most bytes that values alive at the same time take on a device, each in its smallest piece. */
    List<Long> leastBytesByStage(int stages) {
        long[][] change = new long[stages][flat().size() + 2];
        for (Instruction instruction : instructionByNode) {
            long least = prices.leastBytes(instruction) * liveness.copies(instruction);
            long[] ofStage = change[input.stage(instruction)];
            ofStage[Math.toIntExact(liveness.start(instruction))] += least;
            ofStage[Math.toIntExact(liveness.end(instruction))] -= least;
        }
        List<Long> floors = new ArrayList<>();
        for (long[] ofStage : change) {
            long now = 0;
            long most = 0;
            for (long bytes : ofStage) {
                now += bytes;
                most = Math.max(most, now);
            }
            floors.add(most);
        }
        return floors;
    }

    /** What one choice per node decides: strategies, and outputs that end where their parameter is. */
    public ShardingDecisions decisions(List<Integer> choices) {
        List<OpStrategy> strategies = new ArrayList<>();
        int rank = prices.mesh().rank();
        for (Instruction instruction : flat().instructions()) {
            strategies.add(
                    !Source.isWiring(instruction)
                            ? prices.set(instruction).strategies().get(choices.get(nodeById[instruction.id()]))
                            : OpStrategy.replicated(rank));
        }
        return ShardingDecisions.of(flat(), input.updatedParameters(), strategies, prices.mesh());
    }
}

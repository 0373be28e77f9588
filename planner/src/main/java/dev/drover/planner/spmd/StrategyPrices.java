package dev.drover.planner.spmd;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.sharding.Source;
import dev.drover.planner.spmd.ExchangePrices.Way;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What every strategy of one instruction would cost if everything else stayed as it is decided. */
public final class StrategyPrices {
    private final Computation flat;
    private final List<Integer> updatedParameters;
    private final ShardingDecisions decisions;
    private final InstructionCost cost;
    private final ExchangePrices exchanges;
    private final Map<Integer, List<Use>> usesById = new HashMap<>();

    /** A user (or the root tuple) takes a leaf as the operand of this number. */
    private record Use(Instruction user, int operand, Source source) {}

    /**
     * One strategy; times in nanoseconds of one execution.
     *
     * @param operandNanos to bring the operands from where they are, and to exchange their halos
     * @param userNanos to bring the result to where its users (and the step's outputs) want it
     * @param resultBytes of a device's piece
     */
    public record Price(
            OpStrategy strategy,
            boolean chosen,
            List<Sharding> operands,
            List<Sharding> results,
            double computeNanos,
            double operandNanos,
            double userNanos,
            long resultBytes) {
        public double totalNanos() {
            return computeNanos + operandNanos + userNanos;
        }
    }

    /**
     * The prices of a decided step.
     *
     * @param updatedParameters by output: the parameter that it updates, or -1
     */
    public StrategyPrices(
            Computation flat,
            List<Integer> updatedParameters,
            ShardingDecisions decisions,
            InstructionCost cost,
            Resharder resharder) {
        this.flat = flat;
        this.updatedParameters = List.copyOf(updatedParameters);
        this.decisions = decisions;
        this.cost = cost;
        this.exchanges = new ExchangePrices(resharder);
        for (Instruction user : flat.instructions()) {
            if (!Source.isWiring(user) || user == flat.root()) {
                List<Source> sources = Source.ofOperands(user);
                for (int i = 0; i < sources.size(); i++) {
                    usesById.computeIfAbsent(sources.get(i).producer().id(), id -> new ArrayList<>())
                            .add(new Use(user, i, sources.get(i)));
                }
            }
        }
    }

    private Mesh mesh() {
        return exchanges.mesh();
    }

    /** All strategies, the cheapest first. */
    public List<Price> of(Instruction instruction) {
        OpShardings shardings = new OpShardings(instruction, mesh());
        List<Price> prices = new ArrayList<>();
        for (OpStrategy strategy : shardings.all()) {
            prices.add(price(instruction, shardings, strategy));
        }
        prices.sort(Comparator.comparingDouble(Price::totalNanos));
        return prices;
    }

    private Price price(Instruction instruction, OpShardings shardings, OpStrategy strategy) {
        List<Sharding> operands = new ArrayList<>();
        List<ArrayShape> operandShapes = new ArrayList<>();
        double operandNanos = 0;
        List<Source> sources = Source.ofOperands(instruction);
        for (int i = 0; i < sources.size(); i++) {
            ArrayShape shape = sources.get(i).shape();
            Sharding needed = shardings.operand(strategy, i);
            operands.add(needed);
            operandShapes.add(needed.local(shape, mesh()));
            operandNanos += exchanges.nanos(
                    shape, made(sources.get(i)), needed, Way.of(sources.get(i).producer(), instruction));
        }
        List<Sharding> results = new ArrayList<>();
        List<ArrayShape> resultShapes = new ArrayList<>();
        List<ArrayShape> leaves = instruction.shape().leaves();
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            Sharding result = shardings.result(strategy, leaf);
            results.add(result);
            resultShapes.add(result.local(leaves.get(leaf), mesh()));
        }
        double flops = instruction.op().flops(instruction.operandShapes(), instruction.shape())
                / (double) shardings.divisions(strategy);
        LocalTime time = shardings.exchanges(strategy)
                ? LocalTime.of(shardings, strategy, cost, exchanges.resharder())
                : new LocalTime(cost.nanos(instruction, flops, operandShapes, resultShapes), 0);
        return new Price(
                strategy,
                strategy.equals(decisions.strategies().get(instruction.id())),
                operands,
                results,
                time.computeNanos(),
                operandNanos + time.exchangeNanos(),
                userNanos(instruction, results),
                resultShapes.stream().mapToLong(ArrayShape::sizeBytes).sum());
    }

    /** The sharding of a value as it is decided. */
    private Sharding made(Source source) {
        Instruction producer = source.producer();
        return new OpShardings(producer, mesh()).result(decisions.strategies().get(producer.id()), source.leaf());
    }

    private double userNanos(Instruction instruction, List<Sharding> results) {
        double nanos = 0;
        for (Use use : usesById.getOrDefault(instruction.id(), List.of())) {
            Sharding made = results.get(use.source().leaf());
            ArrayShape shape = use.source().shape();
            if (use.user() != flat.root() || !Source.isWiring(flat.root())) {
                Sharding needed = new OpShardings(use.user(), mesh())
                        .operand(decisions.strategies().get(use.user().id()), use.operand());
                nanos += exchanges.nanos(shape, made, needed, Way.of(instruction, use.user()));
            } else if (updatedParameters.get(use.operand()) < 0) {
                nanos += exchanges.nanos(shape, made, made.withoutPartial(), Way.SOON);
            } else {
                nanos += exchanges.nanos(shape, made, decisions.outputs().get(use.operand()), Way.BACK);
            }
        }
        return nanos;
    }
}

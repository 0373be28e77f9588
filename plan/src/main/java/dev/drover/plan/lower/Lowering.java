package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Localizer;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.TupleShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.ReshardStep;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sharding.ShardingDecisions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Turns a flat computation into the program that each device of a mesh runs: every instruction becomes its local form, every
 * mismatch between the sharding that a value has and the one that a user needs becomes the cheapest path of collectives. There is
 * nothing per op here: strategies, shardings and local forms all follow from factor rules.
 *
 * <pre>
 *   before   y = f32[16,32] dot(x, w)        k cut along axis x
 *            z = f32[16,32] tanh(y)          rows cut along axis x
 *   after    y' = f32[16,32] dot(x', w')     partial
 *            s = f32[4,32] reduce-scatter(y')
 *            z' = f32[4,32] tanh(s)
 * </pre>
 */
public final class Lowering {
    private final Computation whole;
    private final Mesh mesh;
    private final ShardingDecisions decisions;
    private final Resharder resharder;
    private final ComputationBuilder builder;
    private final StepLowering steps;
    private final List<Integer> origins = new ArrayList<>();
    private final Map<Wanted, Instruction> made = new HashMap<>();
    private final List<List<Piece>> piecesById = new ArrayList<>();
    private final ReshardSites sites;

    /** A local value and how it is sharded. */
    private record Piece(Instruction local, ArrayShape whole, Sharding sharding) {}

    /** {@code site}: of the users for which it is made; -1 for all. */
    private record Wanted(int localId, Sharding sharding, int site) {}

    private Lowering(Computation whole, ShardingDecisions decisions, Resharder resharder, ReshardSites sites) {
        this.whole = whole;
        this.mesh = resharder.mesh();
        this.decisions = decisions;
        this.resharder = resharder;
        this.builder = new ComputationBuilder(whole.name());
        this.steps = new StepLowering(builder, mesh);
        this.sites = sites;
    }

    /**
     * Lowers a flat computation (array-valued instructions, multi-result ops followed by get-tuple-element, one root tuple).
     *
     * @param resharder chooses the paths; its mesh is the mesh
     */
    public static Lowered lower(
            Computation flat, ShardingDecisions decisions, Resharder resharder, ReshardSites sites) {
        return new Lowering(flat, decisions, resharder, sites).run();
    }

    private Lowered run() {
        for (Instruction instruction : whole.instructions()) {
            if (instruction == whole.root() && instruction.op() instanceof Tuple) {
                break;
            }
            int before = builder.size();
            piecesById.add(lower(instruction));
            mark(before, instruction.id());
        }
        List<Instruction> results = new ArrayList<>();
        List<Instruction> outputs =
                whole.root().op() instanceof Tuple ? whole.root().operands() : List.of(whole.root());
        for (int i = 0; i < outputs.size(); i++) {
            results.add(reshard(outputs.get(i), decisions.outputs().get(i), whole.root()));
        }
        int before = builder.size();
        Instruction root = builder.add(new Tuple(results.size()), results);
        mark(before, whole.root().id());
        List<Sharding> parameters = new ArrayList<>();
        for (Instruction parameter : whole.parameters()) {
            parameters.add(piece(parameter).sharding());
        }
        return new Lowered(builder.build(root), origins, parameters, decisions.outputs());
    }

    private void mark(int before, int origin) {
        for (int id = before; id < builder.size(); id++) {
            if (id >= origins.size()) {
                origins.add(origin);
            }
        }
    }

    private Piece piece(Instruction instruction) {
        return piecesById.get(instruction.id()).get(0);
    }

    private List<Piece> lower(Instruction instruction) {
        if (instruction.op() instanceof GetTupleElement element) {
            return List.of(piecesById.get(instruction.operand(0).id()).get(element.index()));
        }
        OpShardings shardings = new OpShardings(instruction, mesh);
        OpStrategy strategy = decisions.strategies().get(instruction.id());
        if (!shardings.isLegal(strategy)) {
            throw new IllegalArgumentException("The strategy (" + strategy.choiceByAxis() + ") of instruction ("
                    + instruction.name() + ") must fit its rule " + shardings.rule() + " on mesh " + mesh + ".");
        }
        List<Instruction> operands = new ArrayList<>();
        for (int i = 0; i < instruction.operands().size(); i++) {
            operands.add(reshard(instruction.operand(i), shardings.operand(strategy, i), instruction));
        }
        int before = builder.size();
        Instruction local = localize(instruction, shardings, strategy, operands);
        mark(before, instruction.id());
        return pieces(instruction, local, shardings, strategy);
    }

    private Instruction localize(
            Instruction instruction, OpShardings shardings, OpStrategy strategy, List<Instruction> operands) {
        boolean cutAnywhere = false;
        for (int axis = 0; axis < mesh.rank(); axis++) {
            cutAnywhere |= strategy.cuts(axis) && mesh.size(axis) > 1;
        }
        if (!cutAnywhere) {
            return builder.add(instruction.op(), operands, instruction.name(), instruction.annotations());
        }
        return instruction.op().localize(new Local(instruction, shardings, strategy, operands));
    }

    private List<Piece> pieces(Instruction instruction, Instruction local, OpShardings shardings, OpStrategy strategy) {
        List<ArrayShape> wholeLeaves = instruction.shape().leaves();
        boolean tuple = instruction.shape() instanceof TupleShape;
        List<Piece> pieces = new ArrayList<>();
        for (int leaf = 0; leaf < wholeLeaves.size(); leaf++) {
            Instruction value = local;
            if (tuple) {
                int before = builder.size();
                value = builder.add(new GetTupleElement(leaf), local);
                mark(before, instruction.id());
            }
            Sharding sharding = shardings.result(strategy, leaf);
            ArrayShape expected = sharding.local(wholeLeaves.get(leaf), mesh);
            if (!value.shape().equals(expected)) {
                throw new IllegalStateException("The local shape (" + value.shape() + ") of instruction ("
                        + instruction.name() + ") under " + sharding.text(mesh) + " must be " + expected + ".");
            }
            pieces.add(new Piece(value, wholeLeaves.get(leaf), sharding));
        }
        return pieces;
    }

    private Instruction reshard(Instruction value, Sharding wanted, Instruction user) {
        Piece piece = piece(value);
        boolean atUser = sites.atUsers().get(value.id());
        int origin = atUser ? user.id() : value.id();
        int site = atUser ? sites.siteById().get(user.id()) : -1;
        Instruction local = piece.local();
        int before = builder.size();
        for (ReshardStep step : resharder.path(piece.whole(), piece.sharding(), wanted)) {
            Instruction from = local;
            local = made.computeIfAbsent(new Wanted(from.id(), step.to(), site), w -> steps.lower(from, step));
        }
        mark(before, origin);
        return local;
    }

    /** One instruction's cut, as its op sees it. */
    private final class Local implements Localizer {
        private final Instruction instruction;
        private final OpShardings shardings;
        private final OpStrategy strategy;
        private final List<Instruction> operands;

        private Local(Instruction instruction, OpShardings shardings, OpStrategy strategy, List<Instruction> operands) {
            this.instruction = instruction;
            this.shardings = shardings;
            this.strategy = strategy;
            this.operands = operands;
        }

        @Override
        public ComputationBuilder builder() {
            return builder;
        }

        @Override
        public List<Instruction> operands() {
            return operands;
        }

        @Override
        public Instruction whole() {
            return instruction;
        }

        @Override
        public FactorRule rule() {
            return shardings.rule();
        }

        @Override
        public long parts(int factor) {
            return shardings.parts(strategy, factor);
        }

        @Override
        public Instruction partIndex(int factor) {
            List<Integer> axes = new ArrayList<>();
            for (int axis = 0; axis < mesh.rank(); axis++) {
                if (strategy.choice(axis) == factor) {
                    axes.add(axis);
                }
            }
            return steps.coordinate(axes);
        }

        @Override
        public ArrayShape localResult(int leaf) {
            return shardings
                    .result(strategy, leaf)
                    .local(instruction.shape().leaves().get(leaf), mesh);
        }
    }
}

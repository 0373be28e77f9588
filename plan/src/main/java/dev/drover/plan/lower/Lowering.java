package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.ReshardStep;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.sharding.Source;
import dev.drover.plan.stage.Total;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
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
        if (Source.isWiring(instruction)) {
            return Source.ofLeaves(instruction).stream()
                    .map(source -> piecesById.get(source.producer().id()).get(source.leaf()))
                    .toList();
        }
        OpShardings shardings = new OpShardings(instruction, mesh);
        OpStrategy strategy = decisions.strategies().get(instruction.id());
        if (!shardings.isLegal(strategy)) {
            throw new IllegalArgumentException("The strategy (" + strategy.choiceByAxis() + ") of instruction ("
                    + instruction.name() + ") must fit its rule " + shardings.rule() + " on mesh " + mesh + ".");
        }
        List<Instruction> operands = operands(instruction, shardings, strategy);
        if (instruction.op() instanceof Total) {
            return List.of(new Piece(operands.get(0), instruction.array(), shardings.result(strategy, 0)));
        }
        int before = builder.size();
        Instruction local = localize(instruction, shardings, strategy, operands);
        mark(before, instruction.id());
        return pieces(instruction, local, shardings, strategy);
    }

    /** Local operands; a tuple that a loop or conditional takes is made of its elements as they are needed. */
    private List<Instruction> operands(Instruction instruction, OpShardings shardings, OpStrategy strategy) {
        List<Instruction> operands = new ArrayList<>();
        int leaf = 0;
        for (Instruction operand : instruction.operands()) {
            if (!(operand.shape() instanceof TupleShape)) {
                operands.add(reshard(operand, shardings.operand(strategy, leaf++), instruction));
                continue;
            }
            List<Instruction> elements = new ArrayList<>();
            for (Source source : Source.ofLeaves(operand)) {
                Instruction producer = source.producer();
                Piece piece = piecesById.get(producer.id()).get(source.leaf());
                elements.add(reshard(piece, producer, shardings.operand(strategy, leaf++), instruction));
            }
            int before = builder.size();
            operands.add(tupled(operand.shape(), elements.iterator()));
            mark(before, instruction.id());
        }
        return operands;
    }

    private Instruction tupled(Shape shape, Iterator<Instruction> leaves) {
        if (!(shape instanceof TupleShape tuple)) {
            return leaves.next();
        }
        List<Instruction> elements =
                tuple.elements().stream().map(e -> tupled(e, leaves)).toList();
        return builder.add(new Tuple(elements.size()), elements);
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
        return LocalCut.localized(steps, mesh, shardings, strategy, operands);
    }

    private List<Piece> pieces(Instruction instruction, Instruction local, OpShardings shardings, OpStrategy strategy) {
        List<ArrayShape> wholeLeaves = instruction.shape().leaves();
        boolean tuple = instruction.shape() instanceof TupleShape;
        List<Piece> pieces = new ArrayList<>();
        int before = builder.size();
        List<Instruction> values = tuple ? new ArrayList<>() : List.of(local);
        if (tuple) {
            addElements(local, values);
            mark(before, instruction.id());
        }
        for (int leaf = 0; leaf < wholeLeaves.size(); leaf++) {
            Instruction value = values.get(leaf);
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

    private void addElements(Instruction value, List<Instruction> leaves) {
        if (value.shape() instanceof TupleShape tuple) {
            for (int i = 0; i < tuple.elements().size(); i++) {
                addElements(builder.add(new GetTupleElement(i), value), leaves);
            }
        } else {
            leaves.add(value);
        }
    }

    private Instruction reshard(Instruction value, Sharding wanted, Instruction user) {
        return reshard(piece(value), value, wanted, user);
    }

    private Instruction reshard(Piece piece, Instruction value, Sharding wanted, Instruction user) {
        boolean grows =
                wanted.localBytes(piece.whole(), mesh) > piece.local().shape().sizeBytes();
        boolean atUser = sites.isAtUser(value, user, grows);
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
}

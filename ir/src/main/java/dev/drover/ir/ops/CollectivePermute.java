package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Sends the operands along pairs of devices; a device to which none sends gets zeros. An array for one operand, a tuple for several;
 * {@code collective-permute-start} yields a tuple of operand, result and two unused {@code u32[]}.
 */
public record CollectivePermute(long channelId, List<Pair> pairs, boolean start) implements Collective {
    static final OpKind KIND = new OpKind("collective-permute", source -> parse(source, false));
    static final OpKind START = new OpKind("collective-permute-start", source -> parse(source, true));

    /** From one device to another. */
    public record Pair(int source, int target) {}

    public CollectivePermute {
        pairs = List.copyOf(pairs);
    }

    public CollectivePermute(long channelId, List<Pair> pairs) {
        this(channelId, pairs, false);
    }

    private static Op parse(OpSource source, boolean start) {
        String text = source.need("source_target_pairs");
        List<Pair> pairs = new ArrayList<>();
        for (List<Integer> pair : ReplicaGroups.lists("source_target_pairs", text)) {
            if (pair.size() != 2) {
                throw new AttributeException(
                        "source_target_pairs", "The source_target_pairs (" + text + ") must be pairs of devices.");
            }
            pairs.add(new Pair(pair.get(0), pair.get(1)));
        }
        return new CollectivePermute(source.number("channel_id", 0), pairs, start);
    }

    /** Devices that are joined by pairs, directly or over others, are a group. */
    @Override
    public Channel channel() {
        TreeMap<Integer, TreeSet<Integer>> groupByDevice = new TreeMap<>();
        for (Pair pair : pairs) {
            TreeSet<Integer> joined = new TreeSet<>(List.of(pair.source()));
            joined.add(pair.target());
            for (int end : List.of(pair.source(), pair.target())) {
                joined.addAll(groupByDevice.getOrDefault(end, joined));
            }
            joined.forEach(device -> groupByDevice.put(device, joined));
        }
        List<List<Integer>> groups = groupByDevice.values().stream()
                .distinct()
                .map(group -> (List<Integer>) new ArrayList<>(group))
                .toList();
        return Channel.of(ReplicaGroups.of(groups), channelId);
    }

    @Override
    public List<Integer> members(int device, int devices) {
        for (List<Integer> group : channel().groups().groups()) {
            if (group.contains(device)) {
                return group;
            }
        }
        return List.of(device);
    }

    @Override
    public String opcode() {
        return start ? "collective-permute-start" : "collective-permute";
    }

    @Override
    public void print(OpWriter writer) {
        if (channelId != 0) {
            writer.attribute("channel_id", Long.toString(channelId));
        }
        writer.attribute(
                "source_target_pairs",
                pairs.stream()
                        .map(p -> "{" + p.source() + "," + p.target() + "}")
                        .collect(Collectors.joining(",", "{", "}")));
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands (%s) of %s must be at least 1.", operands.size(), opcode());
        Check.that(
                pairs.stream().map(Pair::target).distinct().count() == pairs.size(),
                "The source_target_pairs (%s) of %s must have each target once.",
                pairs,
                opcode());
        for (int i = 0; i < operands.size(); i++) {
            Check.array(this, operands, i);
        }
        Shape result = operands.size() == 1 ? operands.get(0) : new TupleShape(operands);
        Shape context = ArrayShape.scalar(DType.U32);
        return start ? new TupleShape(List.of(result, result, context, context)) : result;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<List<Value>> all = context.exchange(operands);
        List<Value> received = new ArrayList<>();
        for (Value operand : operands) {
            received.add(Literal.zeros(operand.literal().shape()));
        }
        for (Pair pair : pairs) {
            if (pair.target() == context.device()) {
                received = all.get(pair.source());
            }
        }
        Value result = Folds.together(received);
        if (!start) {
            return result;
        }
        Value given = Folds.together(operands);
        Value unused = Literal.scalar(DType.U32, 0);
        return new Value.Tuple(List.of(given, result, unused, unused));
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}

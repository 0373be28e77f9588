package dev.drover.plan.text;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Factor;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Source;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Strategies as plans write them: per axis a factor's name, {@code -} (replicated) or {@code +g} (a partial sum passes through linear
 * group g); {@code "b -"} cuts factor b along the first of two axes.
 */
public final class StrategyText {
    /** Of one axis. */
    static final String REPLICATED = "-";

    private StrategyText() {}

    /** The strategies of a flat computation that are not replicated along all axes, by instruction name. */
    public static SortedMap<String, String> print(Computation flat, List<OpStrategy> strategies, Mesh mesh) {
        SortedMap<String, String> out = new TreeMap<>();
        for (Instruction instruction : flat.instructions()) {
            OpStrategy strategy = strategies.get(instruction.id());
            if (!Source.isWiring(instruction) && !strategy.equals(OpStrategy.replicated(mesh.rank()))) {
                out.put(instruction.name(), print(new OpShardings(instruction, mesh), strategy, mesh));
            }
        }
        return out;
    }

    /** One strategy. */
    public static String print(OpShardings shardings, OpStrategy strategy, Mesh mesh) {
        List<String> parts = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            int group = strategy.passedGroup(axis);
            parts.add(
                    group >= 0
                            ? "+" + group
                            : strategy.cuts(axis)
                                    ? shardings
                                            .rule()
                                            .factors()
                                            .get(strategy.choice(axis))
                                            .name()
                                    : REPLICATED);
        }
        return String.join(" ", parts);
    }

    /** The strategies by instruction id. All that do not fit are listed at once. */
    public static List<OpStrategy> parse(Computation flat, Map<String, String> texts, Mesh mesh) {
        List<OpStrategy> out = new ArrayList<>();
        List<String> wrong = new ArrayList<>();
        Set<String> unknown = new HashSet<>(texts.keySet());
        for (Instruction instruction : flat.instructions()) {
            String text = texts.get(instruction.name());
            unknown.remove(instruction.name());
            OpStrategy strategy = OpStrategy.replicated(mesh.rank());
            if (text != null && !Source.isWiring(instruction)) {
                OpShardings shardings = new OpShardings(instruction, mesh);
                OpStrategy parsed = parse(shardings, text, mesh);
                if (parsed == null || !shardings.isLegal(parsed)) {
                    wrong.add(instruction.name() + ": \"" + text + "\" with rule " + shardings.rule());
                } else {
                    strategy = parsed;
                }
            }
            out.add(strategy);
        }
        unknown.stream().sorted().forEach(name -> wrong.add(name + ": no such instruction"));
        if (!wrong.isEmpty()) {
            throw new UserError(
                    "The strategies (" + String.join("; ", wrong) + ") of a plan must fit the model and mesh " + mesh
                            + ".",
                    "Maybe plan again: the plan may be for another model.");
        }
        return out;
    }

    /** What a text says of each axis. */
    static String[] byAxis(String text) {
        return text.isBlank() ? new String[0] : text.trim().split(" +", -1);
    }

    private static @Nullable OpStrategy parse(OpShardings shardings, String text, Mesh mesh) {
        String[] parts = byAxis(text);
        if (parts.length != mesh.rank()) {
            return null;
        }
        List<Integer> choices = new ArrayList<>();
        List<String> names =
                shardings.rule().factors().stream().map(Factor::name).toList();
        for (String part : parts) {
            if (part.equals("-")) {
                choices.add(OpStrategy.REPLICATE);
            } else if (part.matches("\\+[0-9]{1,3}")) {
                choices.add(OpStrategy.pass(Integer.parseInt(part.substring(1))));
            } else if (names.contains(part)) {
                choices.add(names.indexOf(part));
            } else {
                return null;
            }
        }
        return new OpStrategy(choices);
    }
}

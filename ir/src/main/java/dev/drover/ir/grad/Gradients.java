package dev.drover.ir.grad;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.NoGradientException;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.VjpContext;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reverse mode: appends to a computation the instructions that yield a scalar's gradient. Each instruction on a path from the variables to
 * the scalar is visited once, users before operands; its cotangents are summed and handed on by the op's own rule.
 *
 * <pre>
 *   before   x, w -> dot -> sum -> loss
 *   after    x, w -> dot -> sum -> loss, 1 -> broadcast -> dot(x, .) = d loss / d w
 * </pre>
 *
 * Only float leaves carry cotangents. Calls must have been inlined ({@link Inliner}).
 */
public final class Gradients {
    private final ComputationBuilder builder;
    private final OpBuilder ops;
    private final Set<Integer> stopped = new HashSet<>();
    private final Map<Integer, Composite> compositeByOutput = new HashMap<>();

    /** The cotangent of each input of a composite (null where none flows), given that of its output. */
    @FunctionalInterface
    public interface Rule {
        List<@Nullable Instruction> cotangents(Instruction cotangent);
    }

    private record Composite(List<Instruction> inputs, Rule rule) {}

    private record Context(OpBuilder build) implements VjpContext {}

    public Gradients(ComputationBuilder builder) {
        this.builder = builder;
        this.ops = new OpBuilder(builder);
    }

    /** The computation that is appended to. */
    public ComputationBuilder builder() {
        return builder;
    }

    /** Treats a value as a constant. */
    public Instruction stop(Instruction value) {
        stopped.add(value.id());
        return value;
    }

    /**
     * Gives a group of instructions one rule of its own, leaner or more stable than the rules of its parts would be together: the
     * output's cotangent goes straight to the inputs.
     */
    public Instruction composite(Instruction output, List<Instruction> inputs, Rule rule) {
        compositeByOutput.put(output.id(), new Composite(List.copyOf(inputs), rule));
        return output;
    }

    /** The gradient of a scalar by each variable (arrays of a float type, parameters or not): zeros where none flows. */
    public List<Instruction> of(Instruction loss, List<Instruction> variables) {
        ArrayShape lossShape = loss.array();
        if (lossShape.rank() != 0 || !lossShape.dtype().isFloat()) {
            throw new IllegalArgumentException(
                    "The shape (" + lossShape + ") of loss (" + loss.name() + ") must be a float scalar.");
        }
        boolean[] onPath = onPath(loss, variables);
        // By instruction id, by leaf.
        TreeMap<Integer, @Nullable Instruction[]> cotangentsById = new TreeMap<>();
        cotangentsById.put(loss.id(), new @Nullable Instruction[] {ops.constant(lossShape.dtype(), 1)});
        TreeMap<String, List<String>> missingByOpcode = new TreeMap<>();
        for (int id = loss.id(); id >= 0; id--) {
            @Nullable Instruction[] cotangents = cotangentsById.get(id);
            if (cotangents == null || !onPath[id]) {
                continue;
            }
            Instruction self = builder.instruction(id);
            List<Instruction> inputs = inputs(self);
            if (inputs.isEmpty()) {
                continue;
            }
            List<@Nullable Instruction> toInputs;
            try {
                toInputs = rule(self, cotangents);
            } catch (NoGradientException e) {
                missingByOpcode
                        .computeIfAbsent(self.op().opcode(), opcode -> new ArrayList<>())
                        .add(String.valueOf(e.getMessage()));
                toInputs = placeholders(inputs);
            }
            hand(self, inputs, toInputs, onPath, cotangentsById);
        }
        if (!missingByOpcode.isEmpty()) {
            throw new UserError(missingByOpcode.values().stream()
                    .map(messages -> messages.get(0)
                            + (messages.size() == 1 ? "" : " So must " + (messages.size() - 1) + " more."))
                    .collect(Collectors.joining("\n")));
        }
        List<Instruction> gradients = new ArrayList<>(variables.size());
        for (Instruction variable : variables) {
            @Nullable Instruction[] cotangents = cotangentsById.get(variable.id());
            Instruction gradient = cotangents == null ? null : cotangents[0];
            gradients.add(gradient == null ? ops.zeros(variable.array()) : gradient);
        }
        return gradients;
    }

    private List<Instruction> inputs(Instruction self) {
        if (stopped.contains(self.id())) {
            return List.of();
        }
        Composite composite = compositeByOutput.get(self.id());
        return composite == null ? self.operands() : composite.inputs();
    }

    private List<@Nullable Instruction> rule(Instruction self, @Nullable Instruction[] cotangents) {
        Composite composite = compositeByOutput.get(self.id());
        if (composite == null) {
            return self.op().vjp(new Context(ops), self, Arrays.asList(cotangents));
        }
        Instruction cotangent = cotangents[0];
        if (cotangent == null) {
            throw new IllegalStateException("The output (" + self.name() + ") of a composite must have a cotangent.");
        }
        return composite.rule().cotangents(cotangent);
    }

    /** Lets the search for missing rules go on; what is built is thrown away. */
    private List<@Nullable Instruction> placeholders(List<Instruction> inputs) {
        List<@Nullable Instruction> out = new ArrayList<>();
        for (Instruction input : inputs) {
            for (ArrayShape leaf : input.shape().leaves()) {
                out.add(leaf.dtype().isFloat() ? ops.zeros(leaf) : null);
            }
        }
        return out;
    }

    private void hand(
            Instruction self,
            List<Instruction> inputs,
            List<@Nullable Instruction> toInputs,
            boolean[] onPath,
            Map<Integer, @Nullable Instruction[]> cotangentsById) {
        int at = 0;
        for (Instruction input : inputs) {
            List<ArrayShape> leaves = input.shape().leaves();
            for (int leaf = 0; leaf < leaves.size(); leaf++, at++) {
                Instruction cotangent = at < toInputs.size() ? toInputs.get(at) : null;
                if (cotangent == null || !onPath[input.id()]) {
                    continue;
                }
                if (!cotangent.shape().equals(leaves.get(leaf))) {
                    throw new IllegalStateException("The cotangent (" + cotangent + ") that the rule of " + self
                            + " gives to (" + input.name() + ") must have shape " + leaves.get(leaf) + ".");
                }
                @Nullable
                Instruction[] sums =
                        cotangentsById.computeIfAbsent(input.id(), id -> new @Nullable Instruction[leaves.size()]);
                Instruction sum = sums[leaf];
                sums[leaf] = sum == null ? cotangent : ops.add(sum, cotangent);
            }
        }
    }

    /** By id: whether a change of a variable reaches the loss through this instruction. */
    private boolean[] onPath(Instruction loss, List<Instruction> variables) {
        boolean[] varies = new boolean[loss.id() + 1];
        for (Instruction variable : variables) {
            if (variable.id() <= loss.id()) {
                varies[variable.id()] = true;
            }
        }
        for (int id = 0; id <= loss.id(); id++) {
            Instruction self = builder.instruction(id);
            if (!varies[id] && carries(self.shape())) {
                for (Instruction input : inputs(self)) {
                    varies[id] |= varies[input.id()];
                }
            }
        }
        boolean[] matters = new boolean[loss.id() + 1];
        matters[loss.id()] = true;
        for (int id = loss.id(); id >= 0; id--) {
            if (matters[id]) {
                for (Instruction input : inputs(builder.instruction(id))) {
                    matters[input.id()] |= varies[input.id()];
                }
            }
        }
        return matters;
    }

    private static boolean carries(Shape shape) {
        for (ArrayShape leaf : shape.leaves()) {
            if (leaf.dtype().isFloat()) {
                return true;
            }
        }
        return false;
    }
}

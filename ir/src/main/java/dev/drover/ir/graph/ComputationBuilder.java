package dev.drover.ir.graph;

import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Appends instructions to a computation, inferring and checking shapes. Operands must come from this builder. Names are made
 * unique by a suffix {@code .N}, and legible in text.
 */
public final class ComputationBuilder {
    private final String name;
    private final List<Instruction> instructions = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private final Map<String, Integer> nextSuffixByStem = new HashMap<>();
    private int parameters;

    public ComputationBuilder(String name) {
        this.name = name;
    }

    public String name() {
        return name;
    }

    /** Instructions so far. */
    public int size() {
        return instructions.size();
    }

    /** The instruction with this id, as made so far. */
    public Instruction instruction(int id) {
        return instructions.get(id);
    }

    /** Appends an op with an inferred shape and a generated name. */
    public Instruction add(Op op, Instruction... operands) {
        return add(op, Arrays.asList(operands));
    }

    public Instruction add(Op op, List<Instruction> operands) {
        return add(op, operands, op.opcode(), Map.of());
    }

    /** Appends an op; the name gets a suffix if it is taken. */
    public Instruction add(Op op, List<Instruction> operands, String wantedName, Map<String, String> annotations) {
        List<Shape> shapes = new ArrayList<>(operands.size());
        for (Instruction operand : operands) {
            if (operand.id() >= instructions.size() || instructions.get(operand.id()) != operand) {
                throw new IllegalArgumentException("The operand (" + operand.name() + ") of " + op.opcode() + " ("
                        + wantedName + ") must belong to computation (" + name + ").");
            }
            shapes.add(operand.shape());
        }
        return append(op, operands, op.inferShape(shapes), wantedName, annotations);
    }

    private Instruction append(
            Op op, List<Instruction> operands, Shape shape, String wantedName, Map<String, String> annotations) {
        Instruction made =
                new Instruction(instructions.size(), unique(wantedName), op, List.copyOf(operands), shape, annotations);
        instructions.add(made);
        if (op instanceof Parameter) {
            parameters++;
        }
        return made;
    }

    /** Signs that the text of a program does not have in names become underscores. */
    private static String legible(String name) {
        char[] signs = null;
        for (int i = 0; i < name.length(); i++) {
            if (!Instruction.isNameSign(name.charAt(i))) {
                signs = signs == null ? name.toCharArray() : signs;
                signs[i] = '_';
            }
        }
        return signs == null ? name : new String(signs);
    }

    private String unique(String given) {
        String wanted = legible(given);
        if (names.add(wanted)) {
            return wanted;
        }
        int suffix = nextSuffixByStem.getOrDefault(wanted, 1);
        while (!names.add(wanted + "." + suffix)) {
            suffix++;
        }
        nextSuffixByStem.put(wanted, suffix + 1);
        return wanted + "." + suffix;
    }

    /** The next parameter, numbered from 0. */
    public Instruction parameter(String parameterName, Shape shape) {
        return add(new Parameter(parameters, shape), List.of(), parameterName, Map.of());
    }

    /** The finished computation. The builder must not be used afterwards. */
    public Computation build(Instruction root) {
        if (root.id() >= instructions.size() || instructions.get(root.id()) != root) {
            throw new IllegalArgumentException(
                    "The root (" + root.name() + ") must belong to computation (" + name + ").");
        }
        return new Computation(name, instructions, root);
    }
}

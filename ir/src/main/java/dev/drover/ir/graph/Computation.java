package dev.drover.ir.graph;

import dev.drover.ir.ops.Parameter;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** A list of instructions in topological order, with a root. Parameters are numbered 0.. without holes. */
public final class Computation {
    private final String name;
    private final List<Instruction> instructions;
    private final Instruction root;
    private final List<Instruction> parameters;

    Computation(String name, List<Instruction> instructions, Instruction root) {
        this.name = name;
        this.instructions = List.copyOf(instructions);
        this.root = root;
        TreeMap<Integer, Instruction> byNumber = new TreeMap<>();
        for (Instruction instruction : this.instructions) {
            if (instruction.op() instanceof Parameter parameter) {
                Instruction twin = byNumber.put(parameter.number(), instruction);
                if (twin != null) {
                    throw new IllegalArgumentException("The parameter number (" + parameter.number()
                            + ") of computation (" + name + ") must occur once.");
                }
            }
        }
        this.parameters = List.copyOf(byNumber.values());
        if (!byNumber.isEmpty() && (byNumber.firstKey() != 0 || byNumber.lastKey() != byNumber.size() - 1)) {
            throw new IllegalArgumentException("The parameter numbers (" + byNumber.keySet() + ") of computation ("
                    + name + ") must run from 0 without holes.");
        }
    }

    public String name() {
        return name;
    }

    public List<Instruction> instructions() {
        return instructions;
    }

    public int size() {
        return instructions.size();
    }

    public Instruction root() {
        return root;
    }

    /** Parameters by number. */
    public List<Instruction> parameters() {
        return parameters;
    }

    /** For each instruction id, the distinct users in topological order. */
    public List<List<Instruction>> users() {
        List<List<Instruction>> users = new ArrayList<>(size());
        for (int i = 0; i < size(); i++) {
            users.add(new ArrayList<>(2));
        }
        for (Instruction instruction : instructions) {
            for (Instruction operand : instruction.operands()) {
                List<Instruction> list = users.get(operand.id());
                if (list.isEmpty() || list.get(list.size() - 1) != instruction) {
                    list.add(instruction);
                }
            }
        }
        return users;
    }

    @Override
    public String toString() {
        return "Computation(" + name + ", " + size() + " instructions)";
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What a file says about one instruction: declared shape, operand shapes, payload (the text between the parentheses of a
 * {@code constant} or {@code parameter}) and raw attributes. Attributes that an op reads are its own; the others become
 * annotations of the instruction.
 */
public final class OpSource {
    private final String opcode;
    private final Shape shape;
    private final List<Shape> operands;
    private final String payload;
    private final Map<String, String> attributes;
    private final Function<String, Computation> computationByName;
    private final Set<String> taken = new LinkedHashSet<>();

    public OpSource(
            String opcode,
            Shape shape,
            List<Shape> operands,
            String payload,
            Map<String, String> attributes,
            Function<String, Computation> computationByName) {
        this.opcode = opcode;
        this.shape = shape;
        this.operands = operands;
        this.payload = payload;
        this.attributes = attributes;
        this.computationByName = computationByName;
    }

    public String opcode() {
        return opcode;
    }

    /** The declared result shape. */
    public Shape shape() {
        return shape;
    }

    public List<Shape> operands() {
        return operands;
    }

    public String payload() {
        return payload;
    }

    /** Names of the attributes that the op has read. */
    public Set<String> taken() {
        return taken;
    }

    public boolean has(String name) {
        return attributes.containsKey(name);
    }

    /** The raw text, or null. */
    public @Nullable String text(String name) {
        String value = attributes.get(name);
        if (value != null) {
            taken.add(name);
        }
        return value;
    }

    /** The raw text of an attribute that must be there. */
    public String need(String name) {
        String value = text(name);
        if (value == null) {
            throw new AttributeException(
                    name, "The attributes " + attributes.keySet() + " of " + opcode + " must include " + name + ".");
        }
        return value;
    }

    /** {@code {0,2,1}}; the empty list if absent. */
    public List<Long> longs(String name) {
        String value = text(name);
        return value == null ? List.of() : parseLongs(name, value);
    }

    /** As {@link #longs}, as ints. */
    public List<Integer> ints(String name) {
        return longs(name).stream().map(value -> toInt(name, value)).toList();
    }

    public long number(String name, long absent) {
        String value = text(name);
        return value == null ? absent : parseLong(name, value);
    }

    /** As {@link #number}, as an int. */
    public int integer(String name, int absent) {
        return toInt(name, number(name, absent));
    }

    private static int toInt(String name, long value) {
        if (value != (int) value) {
            throw new AttributeException(name, "The " + name + " (" + value + ") must be below 2^31.");
        }
        return (int) value;
    }

    public boolean flag(String name, boolean absent) {
        String value = text(name);
        return value == null ? absent : value.equals("true");
    }

    /** The computation that an attribute names. */
    public Computation computation(String name) {
        return resolve(need(name));
    }

    /** {@code {%a, %b}}. */
    public List<Computation> computations(String name) {
        String value = need(name).trim();
        if (value.startsWith("{")) {
            value = value.substring(1, value.length() - 1);
        }
        List<Computation> out = new ArrayList<>();
        for (String part : value.split(",", -1)) {
            out.add(resolve(part));
        }
        return out;
    }

    private Computation resolve(String reference) {
        String name = reference.trim();
        return computationByName.apply(name.startsWith("%") ? name.substring(1) : name);
    }

    private static List<Long> parseLongs(String name, String value) {
        String inner = value.trim();
        if (!inner.startsWith("{") || !inner.endsWith("}")) {
            throw new AttributeException(name, "The " + name + " (" + value + ") must be a list in braces.");
        }
        inner = inner.substring(1, inner.length() - 1).trim();
        List<Long> out = new ArrayList<>();
        if (!inner.isEmpty()) {
            for (String part : inner.split(",", -1)) {
                out.add(parseLong(name, part.trim()));
            }
        }
        return out;
    }

    private static long parseLong(String name, String value) {
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new AttributeException(name, "The " + name + " (" + value + ") must be a whole number.");
        }
    }
}

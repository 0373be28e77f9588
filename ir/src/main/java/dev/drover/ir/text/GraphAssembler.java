package dev.drover.ir.text;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.AttributeException;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.OpKind;
import dev.drover.ir.ops.OpSource;
import dev.drover.ir.ops.Ops;
import dev.drover.ir.text.ParsedModule.ParsedComputation;
import dev.drover.ir.text.ParsedModule.ParsedInstruction;
import dev.drover.ir.text.ShapeTable.Declared;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Makes ops, instructions and computations of what the parser found, callees before callers. */
final class GraphAssembler {
    private static final Set<String> DERIVED = Set.of("input_output_alias", "entry_computation_layout");

    private final HloScanner scanner;
    private final ParsedModule module;
    private final Map<String, Computation> done = new HashMap<>();
    private final Set<String> inProgress = new LinkedHashSet<>();

    GraphAssembler(HloScanner scanner, ParsedModule module) {
        this.scanner = scanner;
        this.module = module;
    }

    Graph assemble() {
        Computation entry = computation(module.entry());
        Map<String, String> attributes = new LinkedHashMap<>(module.attributes());
        attributes.keySet().removeAll(DERIVED);
        String aliases = module.attributes().get("input_output_alias");
        try {
            return new Graph(module.name(), entry, aliases == null ? List.of() : AliasText.parse(aliases), attributes);
        } catch (AttributeException e) {
            throw new UserError(scanner.file + ": " + e.getMessage(), e);
        }
    }

    private Computation computation(String name) {
        Computation known = done.get(name);
        if (known != null) {
            return known;
        }
        ParsedComputation parsed = module.computations().get(name);
        if (parsed == null) {
            throw new AttributeException("", "The computation (" + name + ") must be defined in the file.");
        }
        if (!inProgress.add(name)) {
            throw new AttributeException(
                    "",
                    "The computation (" + name + ") must not call itself: " + String.join(" -> ", inProgress) + ".");
        }
        Computation made = build(parsed);
        inProgress.remove(name);
        done.put(name, made);
        return made;
    }

    private Computation build(ParsedComputation parsed) {
        ComputationBuilder builder = new ComputationBuilder(parsed.name());
        int count = parsed.instructions().size();
        Instruction[] made = new Instruction[count];
        @Nullable ParsedInstruction current = null;
        try {
            for (int i = 0; i < count; i++) {
                current = parsed.instructions().get(i);
                List<Instruction> operands = new ArrayList<>(current.operands().length);
                List<Shape> shapes = new ArrayList<>(current.operands().length);
                for (int operand : current.operands()) {
                    operands.add(made[operand]);
                    shapes.add(made[operand].shape());
                }
                made[i] = instruction(builder, parsed, current, operands, shapes);
            }
            current = null;
            return builder.build(made[parsed.root()]);
        } catch (NumberFormatException | ArithmeticException e) {
            // Where an op does not say it better.
            ParsedInstruction at = current;
            throw new UserError(
                    scanner.where(at == null ? parsed.start() : at.start()) + "The numbers of "
                            + (at == null ? parsed.name() : at.opcode() + " (" + at.name() + ")")
                            + " must not be so large.",
                    e);
        } catch (AttributeException | IllegalArgumentException e) {
            int start = current == null ? parsed.start() : locate(current, e);
            throw new UserError(scanner.where(start) + e.getMessage(), e);
        }
    }

    private Instruction instruction(
            ComputationBuilder builder,
            ParsedComputation computation,
            ParsedInstruction parsed,
            List<Instruction> operands,
            List<Shape> shapes) {
        Shape declared = parsed.declared().shape();
        if (parsed.opcode().equals("bitcast") && operands.size() == 1) {
            Declared from = computation.instructions().get(parsed.operands()[0]).declared();
            if (from.minorToMajor().length > 0 || parsed.declared().minorToMajor().length > 0) {
                return relayout(builder, parsed, operands.get(0), from);
            }
        }
        OpKind kind = parsed.kind();
        if (kind == null) {
            throw new IllegalStateException("The opcode (" + parsed.opcode() + ") must have been refused.");
        }
        OpSource source = new OpSource(
                parsed.opcode(), declared, shapes, parsed.payload(), parsed.attributes(), this::computation);
        Op op = kind.factory().make(source);
        Map<String, String> annotations = parsed.attributes();
        if (!source.taken().isEmpty()) {
            annotations = without(annotations, source.taken());
        }
        Instruction made = builder.add(op, operands, parsed.name(), annotations);
        if (!made.shape().equals(declared)) {
            throw new IllegalArgumentException("The shape (" + declared + ") of " + parsed.opcode() + " ("
                    + parsed.name() + ") must be " + made.shape() + ", as its operands "
                    + shapes.stream().map(Shape::toString).collect(Collectors.joining(", ", "(", ")"))
                    + " and attributes say.");
        }
        return made;
    }

    private static Map<String, String> without(Map<String, String> attributes, Set<String> taken) {
        if (taken.size() >= attributes.size()) {
            return Map.of();
        }
        Map<String, String> rest = new LinkedHashMap<>();
        attributes.forEach((name, value) -> {
            if (!taken.contains(name)) {
                rest.put(name, value);
            }
        });
        return java.util.Collections.unmodifiableMap(rest);
    }

    /**
     * A bitcast keeps the bytes, so with layouts it is: to the operand's order in memory, reshape, from the result's order in
     * memory.
     *
     * <pre>
     * b = f32[4,6]{0,1} bitcast(f32[3,8]{1,0} a)   =>   b.bytes = f32[6,4] reshape(a)
     *                                                   b = f32[4,6] transpose(b.bytes), dimensions={1,0}
     * </pre>
     */
    private Instruction relayout(
            ComputationBuilder builder, ParsedInstruction parsed, Instruction operand, Declared from) {
        ArrayShape source = operand.array();
        ArrayShape target = parsed.declared().shape().asArray();
        long[] sourceOrder = majorToMinor(from, source.rank());
        long[] targetOrder = majorToMinor(parsed.declared(), target.rank());
        Instruction bytes = operand;
        if (from.minorToMajor().length > 0) {
            bytes = add(
                    builder, "transpose", permuted(source, sourceOrder), bytes, sourceOrder, parsed, ".memory", false);
        }
        ArrayShape memory = permuted(target, targetOrder);
        boolean last = parsed.declared().minorToMajor().length == 0;
        bytes = add(builder, "reshape", memory, bytes, null, parsed, last ? "" : ".bytes", last);
        if (last) {
            return bytes;
        }
        long[] inverse = new long[targetOrder.length];
        for (int i = 0; i < inverse.length; i++) {
            inverse[(int) targetOrder[i]] = i;
        }
        return add(builder, "transpose", target, bytes, inverse, parsed, "", true);
    }

    private Instruction add(
            ComputationBuilder builder,
            String opcode,
            ArrayShape shape,
            Instruction operand,
            long @Nullable [] dims,
            ParsedInstruction parsed,
            String suffix,
            boolean annotated) {
        Map<String, String> attributes = dims == null
                ? Map.of()
                : Map.of(
                        "dimensions",
                        java.util.Arrays.stream(dims)
                                .mapToObj(Long::toString)
                                .collect(Collectors.joining(",", "{", "}")));
        OpKind kind = Ops.byOpcode(opcode);
        if (kind == null) {
            throw new IllegalStateException("The opcode (" + opcode + ") must be known.");
        }
        Op op = kind.factory()
                .make(new OpSource(opcode, shape, List.of(operand.shape()), "", attributes, this::computation));
        return builder.add(op, List.of(operand), parsed.name() + suffix, annotated ? parsed.attributes() : Map.of());
    }

    private static long[] majorToMinor(Declared declared, int rank) {
        int[] minorToMajor = declared.minorToMajor();
        long[] order = new long[rank];
        for (int i = 0; i < rank; i++) {
            order[i] = minorToMajor.length == 0 ? i : minorToMajor[rank - 1 - i];
        }
        return order;
    }

    private static ArrayShape permuted(ArrayShape shape, long[] order) {
        long[] dims = new long[order.length];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = shape.dim((int) order[i]);
        }
        return ArrayShape.of(shape.dtype(), dims);
    }

    /** Where the attribute that is wrong stands, or else the instruction. */
    private int locate(ParsedInstruction instruction, RuntimeException problem) {
        if (problem instanceof AttributeException wrong
                && !wrong.attribute().isEmpty()
                && instruction.attributes().containsKey(wrong.attribute())) {
            byte[] key = (wrong.attribute() + "=").getBytes(java.nio.charset.StandardCharsets.UTF_8);
            for (int at = instruction.opcodeAt(); at + key.length <= scanner.end && scanner.text[at] != '\n'; at++) {
                if (java.util.Arrays.equals(scanner.text, at, at + key.length, key, 0, key.length)
                        && (scanner.text[at - 1] == ' ' || scanner.text[at - 1] == ',')) {
                    return at;
                }
            }
        }
        return instruction.start();
    }
}

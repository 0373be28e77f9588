package dev.drover.ir.text;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpWriter;
import dev.drover.ir.type.Shape;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Prints a graph as HLO text that {@link HloReader} and XLA read: callees first, no layouts (XLA takes row-major then), names
 * with percent signs. Computations of equal names get suffixes. Printing what was read from printed text gives the same text.
 */
public final class HloPrinter {
    private static final Set<String> TABLES = Set.of("FileNames", "FunctionNames", "FileLocations", "StackFrames");
    private static final int ELEMENTS_PER_COMMENT = 5;

    private final IdentityHashMap<Computation, String> names = new IdentityHashMap<>();
    private final Set<String> taken = new HashSet<>();
    private final StringBuilder out = new StringBuilder(1 << 16);

    private HloPrinter() {}

    /** The whole program. */
    public static String print(Graph graph) {
        HloPrinter printer = new HloPrinter();
        printer.module(graph);
        return printer.out.toString();
    }

    /** One computation, as in the program; those it calls are named only. */
    public static String print(Computation computation) {
        HloPrinter printer = new HloPrinter();
        printer.computation(computation, "");
        return printer.out.toString();
    }

    /** One line: an instruction without its annotations. */
    public static String print(Instruction instruction) {
        HloPrinter printer = new HloPrinter();
        printer.instruction(instruction, false);
        return printer.out.toString();
    }

    private void module(Graph graph) {
        out.append("HloModule ").append(graph.name());
        if (!graph.aliases().isEmpty()) {
            out.append(", input_output_alias=").append(AliasText.print(graph.aliases()));
        }
        out.append(", entry_computation_layout={(");
        separated(graph.entry().parameters().stream().map(Instruction::shape).toList());
        out.append(")->").append(graph.entry().root().shape()).append('}');
        graph.attributes().forEach((name, value) -> {
            if (!TABLES.contains(name)) {
                out.append(", ").append(name).append('=').append(value);
            }
        });
        out.append("\n\n");
        graph.attributes().forEach((name, value) -> {
            if (TABLES.contains(name)) {
                out.append(name).append('\n').append(value).append(value.isEmpty() ? "\n" : "\n\n");
            }
        });
        List<Computation> computations = graph.computations();
        name(graph.entry());
        for (Computation computation : computations) {
            computation(computation, computation == graph.entry() ? "ENTRY " : "");
            out.append(computation == graph.entry() ? "" : "\n");
        }
    }

    private String name(Computation computation) {
        String known = names.get(computation);
        if (known != null) {
            return known;
        }
        String name = computation.name();
        for (int i = 1; !taken.add(name); i++) {
            name = computation.name() + "." + i;
        }
        names.put(computation, name);
        return name;
    }

    private void computation(Computation computation, String prefix) {
        out.append(prefix).append('%').append(name(computation)).append(" (");
        boolean first = true;
        for (Instruction parameter : computation.parameters()) {
            out.append(first ? "" : ", ").append(parameter.name()).append(": ").append(parameter.shape());
            first = false;
        }
        out.append(") -> ").append(computation.root().shape()).append(" {\n");
        for (Instruction instruction : computation.instructions()) {
            out.append(instruction == computation.root() ? "  ROOT " : "  ");
            instruction(instruction, true);
            out.append('\n');
        }
        out.append("}\n");
    }

    private void instruction(Instruction instruction, boolean annotated) {
        out.append('%').append(instruction.name()).append(" = ");
        shape(instruction.shape());
        out.append(' ').append(instruction.op().opcode()).append('(');
        Attributes attributes = new Attributes();
        instruction.op().print(attributes);
        if (attributes.payload != null) {
            out.append(attributes.payload);
        } else {
            for (int i = 0; i < instruction.operands().size(); i++) {
                separator(i);
                out.append('%').append(instruction.operand(i).name());
            }
        }
        out.append(')').append(attributes.text);
        if (annotated) {
            instruction
                    .annotations()
                    .forEach((name, value) ->
                            out.append(", ").append(name).append('=').append(value));
        }
    }

    private void shape(Shape shape) {
        if (shape instanceof dev.drover.ir.type.TupleShape tuple) {
            out.append('(');
            separated(tuple.elements());
            out.append(')');
        } else {
            out.append(shape);
        }
    }

    private void separated(List<Shape> shapes) {
        for (int i = 0; i < shapes.size(); i++) {
            separator(i);
            shape(shapes.get(i));
        }
    }

    private void separator(int index) {
        if (index > 0) {
            out.append(", ");
            if (index % ELEMENTS_PER_COMMENT == 0) {
                out.append("/*index=").append(index).append("*/");
            }
        }
    }

    private final class Attributes implements OpWriter {
        private @Nullable String payload;
        private final StringBuilder text = new StringBuilder();

        @Override
        public void payload(String value) {
            payload = value;
        }

        @Override
        public void attribute(String name, String value) {
            text.append(", ").append(name).append('=').append(value);
        }

        @Override
        public void computation(String name, Computation computation) {
            attribute(name, "%" + name(computation));
        }

        @Override
        public void computations(String name, List<Computation> computations) {
            attribute(
                    name,
                    computations.stream()
                            .map(computation -> "%" + HloPrinter.this.name(computation))
                            .collect(Collectors.joining(", ", "{", "}")));
        }
    }
}

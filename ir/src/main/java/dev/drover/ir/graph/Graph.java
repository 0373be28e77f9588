package dev.drover.ir.graph;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A program: an entry computation and those it calls. Attributes are the module header's entries, verbatim and in order (HLO's
 * {@code input_output_alias}, {@code num_partitions}, ..); {@link #aliases} holds the parsed input-output aliases.
 */
public record Graph(String name, Computation entry, List<Alias> aliases, Map<String, String> attributes) {

    /**
     * Output {@code outputIndex} (a path into the root tuple) may reuse the memory of parameter {@code parameter} at {@code
     * parameterIndex}.
     */
    public record Alias(List<Integer> outputIndex, int parameter, List<Integer> parameterIndex, boolean must) {
        public Alias {
            outputIndex = List.copyOf(outputIndex);
            parameterIndex = List.copyOf(parameterIndex);
        }
    }

    public Graph {
        aliases = List.copyOf(aliases);
        attributes = Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
    }

    public Graph(String name, Computation entry) {
        this(name, entry, List.of(), Map.of());
    }

    /** All computations reachable from the entry, callees first, the entry last; each once. */
    public List<Computation> computations() {
        List<Computation> out = new ArrayList<>();
        visit(entry, Collections.newSetFromMap(new IdentityHashMap<>()), out);
        return out;
    }

    private static void visit(Computation computation, Set<Computation> seen, List<Computation> out) {
        if (!seen.add(computation)) {
            return;
        }
        for (Instruction instruction : computation.instructions()) {
            for (Computation callee : instruction.op().calls()) {
                visit(callee, seen, out);
            }
        }
        out.add(computation);
    }
}

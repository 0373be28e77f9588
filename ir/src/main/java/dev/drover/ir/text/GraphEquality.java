package dev.drover.ir.text;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Whether two graphs are the same, and if not, where they differ first. Compared are the name, the module's attributes, aliases,
 * and in each computation: order, names, shapes, ops, operands and annotations of instructions. Names of computations are not:
 * a printer may have to change them.
 */
public final class GraphEquality {
    private final IdentityHashMap<Computation, Computation> equalTo = new IdentityHashMap<>();

    private GraphEquality() {}

    public static boolean equal(Graph a, Graph b) {
        return difference(a, b) == null;
    }

    /** The first difference, as a sentence, or null. */
    public static @Nullable String difference(Graph a, Graph b) {
        if (!a.name().equals(b.name())) {
            return "The name is " + a.name() + " and " + b.name() + ".";
        }
        if (!new ArrayList<>(a.attributes().entrySet())
                .equals(new ArrayList<>(b.attributes().entrySet()))) {
            return "The attributes are " + a.attributes() + " and " + b.attributes() + ".";
        }
        if (!a.aliases().equals(b.aliases())) {
            return "The aliases are " + a.aliases() + " and " + b.aliases() + ".";
        }
        return new GraphEquality().compare(a.entry(), b.entry());
    }

    private @Nullable String compare(Computation a, Computation b) {
        Computation known = equalTo.get(a);
        if (known == b) {
            return null;
        }
        String where = "In computation " + a.name() + ": ";
        if (a.size() != b.size()) {
            return where + "there are " + a.size() + " and " + b.size() + " instructions.";
        }
        for (int i = 0; i < a.size(); i++) {
            String difference =
                    compare(a.instructions().get(i), b.instructions().get(i));
            if (difference != null) {
                return difference.startsWith("In computation ") ? difference : where + difference;
            }
        }
        if (a.root().id() != b.root().id()) {
            return where + "the root is " + a.root().name() + " and " + b.root().name() + ".";
        }
        equalTo.put(a, b);
        return null;
    }

    private @Nullable String compare(Instruction a, Instruction b) {
        if (!a.toString().equals(b.toString())) {
            return "there is " + a + " and " + b + ".";
        }
        List<Computation> callees = a.op().calls();
        if (callees.size() != b.op().calls().size()) {
            return a.name() + " calls " + callees + " and " + b.op().calls() + ".";
        }
        for (int i = 0; i < callees.size(); i++) {
            String difference = compare(callees.get(i), b.op().calls().get(i));
            if (difference != null) {
                return difference;
            }
        }
        if (!a.op().equals(callees.isEmpty() ? b.op() : b.op().withCalls(callees))) {
            return a.name() + " does " + HloPrinter.print(a) + " and " + HloPrinter.print(b) + ".";
        }
        if (!new ArrayList<>(a.annotations().entrySet())
                .equals(new ArrayList<>(b.annotations().entrySet()))) {
            return a.name() + " is annotated " + a.annotations() + " and " + b.annotations() + ".";
        }
        return null;
    }
}

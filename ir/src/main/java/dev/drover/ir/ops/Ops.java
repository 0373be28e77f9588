package dev.drover.ir.ops;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Every op kind, by opcode. */
public final class Ops {
    /** All kinds in the order of their opcodes. A new op is one file and one line here. */
    public static final List<OpKind> ALL = Stream.of(Parameter.KIND)
            .sorted(java.util.Comparator.comparing(OpKind::opcode))
            .toList();

    private static final Map<String, OpKind> BY_OPCODE =
            ALL.stream().collect(Collectors.toUnmodifiableMap(OpKind::opcode, kind -> kind));

    private Ops() {}

    /** The kind of an opcode, or null if there is none. */
    public static @Nullable OpKind byOpcode(String opcode) {
        return BY_OPCODE.get(opcode);
    }
}

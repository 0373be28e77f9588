package dev.drover.plan.sharding;

import dev.drover.ir.ops.Op;
import org.jspecify.annotations.Nullable;

/** The collectives that resharding uses, by their HLO names. */
public enum CollectiveKind {
    ALL_REDUCE("all-reduce"),
    ALL_GATHER("all-gather"),
    REDUCE_SCATTER("reduce-scatter"),
    ALL_TO_ALL("all-to-all"),
    COLLECTIVE_PERMUTE("collective-permute");

    private final String opcode;

    CollectiveKind(String opcode) {
        this.opcode = opcode;
    }

    /** The kind that an op is, or null. */
    public static @Nullable CollectiveKind of(Op op) {
        for (CollectiveKind kind : values()) {
            if (kind.opcode.equals(op.opcode())) {
                return kind;
            }
        }
        return null;
    }

    public String opcode() {
        return opcode;
    }
}

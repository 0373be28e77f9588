package dev.drover.plan.sharding;

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

    public String opcode() {
        return opcode;
    }
}

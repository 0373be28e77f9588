package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import java.util.HashMap;
import java.util.Map;

/** What takes an instruction's time. */
enum WorkKind {
    /** Another view of an operand, what a program is fed or made of, or what its users make on the fly. */
    NONE,
    /** Products of matrices. */
    DOT,
    CONVOLUTION,
    /** Joined by a backend to chains, each of which reads and writes memory once. */
    ELEMENTWISE,
    /** Elementwise, and slower to compute than to read. */
    TRANSCENDENTAL,
    /** A kernel of its own that reads more than it writes. */
    READ,
    /** A kernel of its own that writes what it reads. */
    MOVE;

    private static final Map<String, WorkKind> BY_OPCODE = new HashMap<>();

    static {
        put(NONE, "add-dependency bitcast broadcast constant copy domain get-tuple-element iota optimization-barrier");
        put(NONE, "parameter partition-id replica-id reshape slice transpose tuple");
        put(DOT, "call conditional dot fusion triangular-solve while");
        put(CONVOLUTION, "convolution");
        put(TRANSCENDENTAL, "atan2 cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic power");
        put(TRANSCENDENTAL, "rng rng-bit-generator sine tan tanh");
        put(READ, "batch-norm-grad batch-norm-training reduce reduce-window");
        put(
                MOVE,
                "concatenate dynamic-slice dynamic-update-slice gather pad reverse scatter select-and-scatter sort topk");
    }

    private static void put(WorkKind kind, String opcodes) {
        for (String opcode : opcodes.split(" ")) {
            BY_OPCODE.put(opcode, kind);
        }
    }

    static WorkKind of(Instruction instruction) {
        return BY_OPCODE.getOrDefault(
                instruction.op().opcode(), instruction.op().isView() ? NONE : ELEMENTWISE);
    }
}

package dev.drover.ir.text;

import dev.drover.ir.ops.OpKind;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@link HloParser} finds in a text: names are resolved within a computation, not yet between them. */
record ParsedModule(
        String name, Map<String, String> attributes, Map<String, ParsedComputation> computations, String entry) {

    /**
     * @param start offset of the name
     * @param root position of the root in {@code instructions}
     */
    record ParsedComputation(String name, int start, List<ParsedInstruction> instructions, int root) {}

    /**
     * @param start offset of the instruction's name
     * @param opcodeAt offset of the opcode; attributes follow
     * @param kind null if the opcode is unknown
     * @param operands positions in the computation
     * @param payload the text between the parentheses of an op without operands
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared; made by the thousand
    record ParsedInstruction(
            int start,
            String name,
            ShapeTable.Declared declared,
            int opcodeAt,
            String opcode,
            @Nullable OpKind kind,
            int[] operands,
            String payload,
            Map<String, String> attributes) {}
}

package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloPrinter;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Says whether two flat graphs are the same program under the same names; annotations do not count. */
public final class Fingerprint {
    private Fingerprint() {}

    /** 32 hexadecimal digits of a SHA-256 over the entry's text. */
    public static String of(Graph flat) {
        Computation entry = withoutAnnotations(flat.entry());
        String text = HloPrinter.print(new Graph("model", entry));
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Computation withoutAnnotations(Computation from) {
        ComputationBuilder builder = new ComputationBuilder("entry");
        List<Instruction> made = new ArrayList<>(from.size());
        for (Instruction instruction : from.instructions()) {
            List<Instruction> operands = instruction.operands().stream()
                    .map(operand -> made.get(operand.id()))
                    .toList();
            made.add(builder.add(instruction.op(), operands, instruction.name(), Map.of()));
        }
        return builder.build(made.get(from.root().id()));
    }
}

package dev.drover.ir.ops;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.text.HloReader;
import java.util.List;

/** Small HLO programs, their instructions joined by semicolons: {@code "x = f32[] constant(2); y = f32[] negate(x)"}. */
final class Snippet {
    private Snippet() {}

    /** The module; its last instruction is the root. */
    static String module(String instructions) {
        String[] parts = instructions.split(";", -1);
        StringBuilder text = new StringBuilder("HloModule m\n\nENTRY e {\n");
        for (int i = 0; i < parts.length; i++) {
            text.append("  ")
                    .append(i == parts.length - 1 ? "ROOT " : "")
                    .append(parts[i].trim())
                    .append('\n');
        }
        return text.append("}\n").toString();
    }

    /** The value of a module without parameters. */
    static Literal run(String instructions) {
        return Evaluator.evaluate(HloReader.read("test", module(instructions)).entry(), List.of())
                .literal();
    }
}

package dev.drover.models;

import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import java.util.List;

/** All models, and how their names are read: {@code gpt:layers=4,hidden=256,heads=4,seq=128,batch=16}. */
public final class Zoo {
    /** All kinds in the order of their names. A new one is one file and one line here. */
    public static final List<ModelKind> ALL = List.of(new Gpt(), new Mlp(), new Moe(), new UNet());

    private Zoo() {}

    /** Whether a text is meant as the name of a model here: a known kind, alone or before a colon. */
    public static boolean isName(String text) {
        String kind = kindOf(text);
        return ALL.stream().anyMatch(k -> k.name().equals(kind));
    }

    /** The model of a name. */
    public static Model parse(String text) {
        String kind = kindOf(text);
        for (ModelKind candidate : ALL) {
            if (candidate.name().equals(kind)) {
                String options = text.length() > kind.length() ? text.substring(text.indexOf(':') + 1) : "";
                return build(candidate, ModelOptions.parse(kind, options, candidate.options()));
            }
        }
        List<String> names = ALL.stream().map(ModelKind::name).toList();
        ModelKind nearest = ALL.get(names.indexOf(Nearest.of(kind, names)));
        throw new UserError(
                "The model (" + kind + ") must be one of " + String.join(", ", names) + ".",
                "Maybe " + nearest.example() + ".");
    }

    private static Model build(ModelKind kind, ModelOptions options) {
        try {
            return kind.build(options);
        } catch (ArithmeticException e) {
            throw new UserError(
                    "The sizes of model (" + options.name() + ") must give tensors of fewer than 2^60 elements.", e);
        }
    }

    private static String kindOf(String text) {
        int colon = text.indexOf(':');
        return (colon < 0 ? text : text.substring(0, colon)).trim();
    }
}

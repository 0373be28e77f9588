package dev.drover.models;

import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import java.util.List;

/**
 * One parameter in a model's name.
 *
 * @param name the key
 * @param kind what values look like
 * @param absent the value where the key is not given, as text
 * @param choices for {@link Kind#CHOICE}, the values allowed
 * @param description one line for people
 */
public record ModelOption(String name, Kind kind, String absent, List<String> choices, String description) {

    /** A graph of more would not fit into memory. */
    private static final int MOST_PARTS = 10_000;

    /** What values look like. */
    public enum Kind {
        /** A whole number of at least 1. */
        SIZE,
        /** A whole number from 1 to {@link #MOST_PARTS}: how many parts of the graph are built, one by one. */
        DEPTH,
        /** A whole number of at least 0. */
        COUNT,
        /** A number of at least 0. */
        NUMBER,
        /** One of the choices. */
        CHOICE
    }

    public ModelOption {
        choices = List.copyOf(choices);
    }

    static ModelOption size(String name, long absent, String description) {
        return new ModelOption(name, Kind.SIZE, Long.toString(absent), List.of(), description);
    }

    static ModelOption depth(String name, long absent, String description) {
        return new ModelOption(name, Kind.DEPTH, Long.toString(absent), List.of(), description);
    }

    static ModelOption count(String name, long absent, String description) {
        return new ModelOption(name, Kind.COUNT, Long.toString(absent), List.of(), description);
    }

    static ModelOption number(String name, String absent, String description) {
        return new ModelOption(name, Kind.NUMBER, absent, List.of(), description);
    }

    static ModelOption choice(String name, String absent, List<String> choices, String description) {
        return new ModelOption(name, Kind.CHOICE, absent, choices, description);
    }

    static ModelOption flag(String name, boolean absent, String description) {
        return choice(name, Boolean.toString(absent), List.of("true", "false"), description);
    }

    /** What values must be, for messages and docs. */
    public String constraint() {
        return switch (kind) {
            case SIZE -> "a whole number of at least 1";
            case DEPTH -> "a whole number between 1 and " + MOST_PARTS;
            case COUNT -> "a whole number of at least 0";
            case NUMBER -> "a number of at least 0";
            case CHOICE -> "one of " + String.join(", ", choices);
        };
    }

    /** Fails where a value does not fit. */
    void check(String model, String value) {
        boolean fits;
        try {
            fits = switch (kind) {
                case SIZE -> Integer.parseInt(value) >= 1;
                case DEPTH -> Integer.parseInt(value) >= 1 && Integer.parseInt(value) <= MOST_PARTS;
                case COUNT -> Integer.parseInt(value) >= 0;
                case NUMBER -> Double.parseDouble(value) >= 0 && !Double.isInfinite(Double.parseDouble(value));
                case CHOICE -> choices.contains(value);
            };
        } catch (NumberFormatException e) {
            fits = false;
        }
        if (!fits) {
            boolean tooLarge = (kind == Kind.SIZE || kind == Kind.COUNT) && value.matches("\\d{10,}");
            String message = "The " + name + " (" + value + ") of model (" + model + ") must be " + constraint()
                    + (tooLarge ? " and at most " + Integer.MAX_VALUE : "") + ".";
            if (kind == Kind.CHOICE) {
                throw Nearest.error(message, value, choices, name + "=%s");
            }
            throw new UserError(message);
        }
    }
}

package dev.drover.models;

import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The options of one model: what its name says, and what it leaves out. */
public final class ModelOptions {
    private final String model;
    private final List<ModelOption> known;
    private final Map<String, String> given;

    private ModelOptions(String model, List<ModelOption> known, Map<String, String> given) {
        this.model = model;
        this.known = known;
        this.given = given;
    }

    /** Reads {@code key=value,key=value}; the empty text gives nothing. */
    static ModelOptions parse(String model, String text, List<ModelOption> known) {
        Map<String, String> given = new LinkedHashMap<>();
        if (!text.isBlank()) {
            for (String pair : text.split(",", -1)) {
                int equals = pair.indexOf('=');
                if (equals < 0) {
                    throw new UserError(
                            "The option (" + pair + ") of model (" + model + ") must be written key=value.",
                            "Maybe " + model + ":" + known.get(0).name() + "="
                                    + known.get(0).absent() + ".");
                }
                String key = pair.substring(0, equals).trim();
                String value = pair.substring(equals + 1).trim();
                List<String> names = known.stream().map(ModelOption::name).toList();
                int index = names.indexOf(key);
                if (index < 0) {
                    throw Nearest.error(
                            "The option (" + key + ") of model (" + model + ") must be one of "
                                    + String.join(", ", names) + ".",
                            key,
                            names,
                            "%s=" + value);
                }
                known.get(index).check(model, value);
                if (given.put(key, value) != null) {
                    throw new UserError("The option (" + key + ") of model (" + model + ") must be given once.");
                }
            }
        }
        return new ModelOptions(model, known, given);
    }

    /** The name of the kind. */
    String model() {
        return model;
    }

    /** The name that stands for these options, keys in the order of their declaration. */
    String name() {
        StringBuilder name = new StringBuilder(model);
        char separator = ':';
        for (ModelOption option : known) {
            String value = given.get(option.name());
            if (value != null) {
                name.append(separator).append(option.name()).append('=').append(value);
                separator = ',';
            }
        }
        return name.toString();
    }

    String text(String key) {
        String value = given.get(key);
        if (value != null) {
            return value;
        }
        for (ModelOption option : known) {
            if (option.name().equals(key)) {
                return option.absent();
            }
        }
        throw new IllegalArgumentException("The option (" + key + ") of model (" + model + ") must be declared.");
    }

    boolean isGiven(String key) {
        return given.containsKey(key);
    }

    int integer(String key) {
        return Integer.parseInt(text(key));
    }

    double number(String key) {
        return Double.parseDouble(text(key));
    }

    boolean flag(String key) {
        return text(key).equals("true");
    }

    /** Fails unless one option is a multiple of another. */
    void mustDivide(String key, String divisor) {
        mustDivide(key, integer(divisor), divisor);
    }

    /** Fails unless an option is a multiple of a number that has a name. */
    void mustDivide(String key, int divisor, String divisorName) {
        if (integer(key) % divisor != 0) {
            throw new UserError(
                    "The " + key + " (" + integer(key) + ") of model (" + model + ") must be a multiple of "
                            + divisorName + " (" + divisor + ").",
                    "Maybe " + key + "=" + (integer(key) / divisor + 1) * divisor + ".");
        }
    }

    /** Fails with a message about one option. */
    UserError refusal(String key, String constraint) {
        return new UserError("The " + key + " (" + text(key) + ") of model (" + model + ") must " + constraint + ".");
    }
}

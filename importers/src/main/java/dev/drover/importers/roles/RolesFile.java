package dev.drover.importers.roles;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The side file that corrects roles: JSON; keys of {@code inputs} are names, with {@code *} for any characters, or positions; keys of
 * {@code outputs} are positions. Later entries win. What is not named stays as found.
 *
 * <pre>
 * {"inputs":  {"params*": "PARAMETER", "17": "BATCH"},
 *  "outputs": {"0": "LOSS", "1": "METRIC", "2": {"updates": "params['w']"}}}
 * </pre>
 */
public final class RolesFile {
    private static final ObjectMapper JSON = new ObjectMapper()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);

    private final Path file;
    private final List<InputRole> inputs;
    private final List<OutputRole> outputs;
    /** Inputs whose role the file says. */
    private final Set<Integer> said = new HashSet<>();

    private RolesFile(Path file, TrainingStep step) {
        this.file = file;
        this.inputs = new ArrayList<>(step.inputs());
        this.outputs = new ArrayList<>(step.outputs());
    }

    /** The step with the file's corrections. */
    public static TrainingStep correct(TrainingStep step, Path file) {
        JsonNode json;
        try {
            json = JSON.readTree(Files.readString(file));
        } catch (JsonProcessingException e) {
            JsonLocation location = e.getLocation();
            String where =
                    location == null ? "" : ", line " + location.getLineNr() + ", column " + location.getColumnNr();
            throw new UserError("The roles file (" + file + where + ") must be JSON.", e);
        } catch (IOException e) {
            throw new UserError("The roles file (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
        if (!json.isObject()) {
            throw new UserError("The roles file (" + file + ") must be a map with the keys inputs and outputs.");
        }
        RolesFile roles = new RolesFile(file, step);
        for (Map.Entry<String, JsonNode> part : json.properties()) {
            if (!part.getValue().isObject()) {
                throw new UserError("The " + part.getKey() + " of roles file (" + file + ") must be a map.");
            }
            switch (part.getKey()) {
                case "inputs" -> part.getValue().properties().forEach(e -> roles.input(e.getKey(), e.getValue()));
                case "outputs" -> part.getValue().properties().forEach(e -> roles.output(e.getKey(), e.getValue()));
                default ->
                    throw new UserError(
                            "The key (" + part.getKey() + ") of roles file (" + file + ") must be inputs or outputs.");
            }
        }
        try {
            return new TrainingStep(step.graph(), roles.inputs, roles.outputs);
        } catch (IllegalArgumentException e) {
            throw new UserError("The roles of file (" + file + ") must fit the model. " + e.getMessage(), e);
        }
    }

    private void input(String key, JsonNode value) {
        InputRole.Kind kind = kind(InputRole.Kind.values(), value.asText(), "input (" + key + ")");
        for (int i : positions(key)) {
            inputs.set(i, new InputRole(kind, inputs.get(i).name()));
            said.add(i);
        }
    }

    private void output(String key, JsonNode value) {
        int position = position(key, outputs.size());
        if (position < 0) {
            throw new UserError("The output (" + key + ") of roles file (" + file + ") must be a position below "
                    + outputs.size() + ".");
        }
        JsonNode updates = value.get("updates");
        if (updates == null) {
            OutputRole.Kind kind = kind(OutputRole.Kind.values(), value.asText(), "output (" + key + ")");
            if (kind == OutputRole.Kind.UPDATE) {
                throw new UserError("The role (UPDATE) of output (" + key + ") in roles file (" + file
                        + ") must name its input.\nMaybe write {\"updates\": \"NAME\"}.");
            }
            if (kind == OutputRole.Kind.LOSS) {
                outputs.replaceAll(role -> role.equals(OutputRole.LOSS) ? OutputRole.METRIC : role);
            }
            outputs.set(position, new OutputRole(kind, -1));
            return;
        }
        List<Integer> targets = positions(updates.asText());
        if (targets.size() != 1) {
            throw new UserError("The input (" + updates.asText() + ") that output (" + key + ") updates by roles file ("
                    + file + ") must be one input, not " + targets.size() + ".");
        }
        int target = targets.get(0);
        for (int i = 0; i < outputs.size(); i++) {
            if (outputs.get(i).input() == target) {
                outputs.set(i, OutputRole.METRIC);
            }
        }
        outputs.set(position, OutputRole.update(target));
        if (inputs.get(target).kind() == InputRole.Kind.BATCH && !said.contains(target)) {
            inputs.set(
                    target,
                    new InputRole(
                            InputRole.Kind.OPTIMIZER_STATE, inputs.get(target).name()));
        }
    }

    private List<Integer> positions(String key) {
        int position = position(key, inputs.size());
        if (position >= 0) {
            return List.of(position);
        }
        Pattern pattern = Pattern.compile(
                Arrays.stream(key.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*")));
        List<Integer> found = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            if (pattern.matcher(inputs.get(i).name()).matches()) {
                found.add(i);
            }
        }
        if (found.isEmpty()) {
            throw new UserError(
                    "The input (" + key + ") of roles file (" + file + ") must be the name of an input of the model"
                            + " or a position below " + inputs.size() + ".",
                    nearest(key));
        }
        return found;
    }

    private static int position(String key, int count) {
        if (key.isEmpty() || key.length() > 9 || !key.chars().allMatch(Character::isDigit)) {
            return -1;
        }
        int position = Integer.parseInt(key);
        return position < count ? position : -1;
    }

    /** Advice: a name that differs in two letters or a third of them, if there is one and the key is no number. */
    private String nearest(String key) {
        String best = "";
        int bestDistance = Math.max(2, key.length() / 3) + 1;
        for (InputRole input : key.matches("-?\\d+") ? List.<InputRole>of() : inputs) {
            int distance = editDistance(key, input.name());
            if (distance < bestDistance) {
                best = input.name();
                bestDistance = distance;
            }
        }
        return best.isEmpty() ? "Maybe see the names with drover inspect --inputs." : "Maybe " + best + ".";
    }

    private static int editDistance(String a, String b) {
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, i -> i);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int above = row[j];
                int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(change, Math.min(above, row[j - 1]) + 1);
                diagonal = above;
            }
        }
        return row[b.length()];
    }

    private <K extends Enum<K>> K kind(K[] kinds, String text, String what) {
        for (K kind : kinds) {
            if (kind.name().equals(text.toUpperCase(Locale.ROOT))) {
                return kind;
            }
        }
        throw new UserError("The role (" + text + ") of " + what + " in roles file (" + file + ") must be one of "
                + Arrays.toString(kinds) + ".");
    }

    /** Writes all roles of a step, to be edited. */
    public static void write(TrainingStep step, Path file) {
        ObjectNode json = JSON.createObjectNode();
        ObjectNode inputNode = json.putObject("inputs");
        step.inputs().forEach(role -> inputNode.put(role.name(), role.kind().name()));
        ObjectNode outputNode = json.putObject("outputs");
        for (int i = 0; i < step.outputs().size(); i++) {
            OutputRole role = step.outputs().get(i);
            if (role.kind() == OutputRole.Kind.UPDATE) {
                outputNode
                        .putObject(String.valueOf(i))
                        .put("updates", step.inputs().get(role.input()).name());
            } else {
                outputNode.put(String.valueOf(i), role.kind().name());
            }
        }
        try {
            Files.write(file, (json.toPrettyString() + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UserError("The roles file (" + file + ") must be writable, but " + FileReason.of(e) + ".", e);
        }
    }
}

package dev.drover.plan;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * JSON or YAML that is to become a record, and that people may have written: keys and values are checked against the record's
 * components before it is made, so that a mistake is told with its key, line and constraint, and never in the words of the parser's
 * own classes. Components are records, lists, maps, enums, strings, numbers and booleans.
 */
public final class RecordText {
    private static final int LONGEST_VALUE = 60;
    private static final Pattern NUMBER = Pattern.compile("[-+]?(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d+)?");
    private static final Pattern QUANTITY =
            Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([KMGT])(i?)(?:B?|B/s)", Pattern.CASE_INSENSITIVE);

    private final ObjectMapper mapper;
    private final String text;
    private final String kind;
    private final String source;
    private final JsonNode tree;

    private RecordText(ObjectMapper mapper, String text, String kind, String source, JsonNode tree) {
        this.mapper = mapper;
        this.text = text;
        this.kind = kind;
        this.source = source;
        this.tree = tree;
    }

    /**
     * Parses a text. Fails with {@link UserError} where it is not of the mapper's format.
     *
     * @param kind what the text is of, in messages, such as {@code plan}
     * @param source names the file in messages
     */
    public static RecordText parse(ObjectMapper mapper, String text, String kind, String source) {
        try (JsonParser parser = mapper.createParser(text)) {
            JsonNode tree = mapper.readTree(parser);
            if (tree != null && parser.nextToken() != null) {
                throw new UserError(
                        "The " + kind + " (" + source + ", line "
                                + parser.currentTokenLocation().getLineNr() + ") must end after its first value.",
                        "Maybe two files were joined.");
            }
            return new RecordText(mapper, text, kind, source, tree == null ? MissingNode.getInstance() : tree);
        } catch (JsonProcessingException e) {
            JsonLocation location = e.getLocation();
            String where = location == null
                    ? ""
                    : ", line " + location.getLineNr() + ", column " + Math.max(1, location.getColumnNr());
            throw new UserError("The " + kind + " (" + source + where + ") must be "
                    + mapper.getFactory().getFormatName() + ": " + reason(e) + ".");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The parser's words, of one line, without what they say about its classes and settings. */
    private static String reason(JsonProcessingException e) {
        return String.valueOf(e.getOriginalMessage())
                .lines()
                .filter(line -> !line.isBlank() && !line.matches("(\\s|while |in |or ).*"))
                .findFirst()
                .orElse("it cannot be read")
                .replaceAll(
                        "\\(start marker at \\[Source: .*?; line: (\\d+), column: (\\d+)]\\)",
                        "begun in line $1, column $2")
                .replaceAll("\\s*\\([^()]*`.*", "")
                .replaceAll("\\.$", "");
    }

    /** What was parsed; a missing node for an empty text. */
    public JsonNode tree() {
        return tree;
    }

    /**
     * The record that the text describes. Fails with {@link UserError} where it describes none.
     *
     * @param optional keys of the record itself that may be absent or null
     */
    public <T> T to(Class<T> record, Set<String> optional) {
        checkRecord(tree, record, JsonPointer.empty(), "", optional);
        try {
            return mapper.treeToValue(tree, record);
        } catch (JsonMappingException e) {
            JsonPointer at = JsonPointer.empty();
            String path = "";
            for (JsonMappingException.Reference step : e.getPath()) {
                String name = step.getFieldName();
                at = name == null ? at.appendIndex(step.getIndex()) : at.appendProperty(name);
                path = name == null ? path + "[" + step.getIndex() + "]" : below(path, name);
            }
            for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
                String message = cause.getMessage();
                if (message != null && (cause instanceof UserError || cause instanceof IllegalArgumentException)) {
                    throw placed(message, at, path);
                }
            }
            throw new UserError("The " + path + " of " + place(at) + " must be a value that can be read.");
        } catch (JsonProcessingException e) {
            throw new UserError("The " + kind + " (" + source + ") must be one that can be read.");
        }
    }

    /** The message of a record's own check, with the place of the record. */
    public UserError placed(String message) {
        return placed(message, JsonPointer.empty(), "");
    }

    private UserError placed(String message, JsonPointer at, String path) {
        String where = (path.isEmpty() ? " of " : " at " + path + " of ") + place(at);
        return new UserError(message.replaceFirst(" must ", Matcher.quoteReplacement(where) + " must "));
    }

    // --- checks -----------------------------------------------------------------------------------

    private void check(JsonNode node, Type type, JsonPointer at, String path) {
        if (type instanceof ParameterizedType generic) {
            Type[] arguments = generic.getActualTypeArguments();
            if (generic.getRawType() == List.class) {
                require(node.isArray(), node, at, path, "a list");
                for (int i = 0; i < node.size(); i++) {
                    check(node.get(i), arguments[0], at.appendIndex(i), path + "[" + i + "]");
                }
                return;
            }
            require(node.isObject(), node, at, path, "a map of keys");
            for (Map.Entry<String, JsonNode> entry : node.properties()) {
                JsonPointer value = at.appendProperty(entry.getKey());
                String valuePath = below(path, entry.getKey());
                if (arguments[0] == Long.class && !entry.getKey().matches("-?\\d{1,18}")) {
                    throw new UserError("The key (" + valuePath + ") of " + place(value) + " must be a whole number.");
                }
                check(entry.getValue(), arguments[1], value, valuePath);
            }
        } else if (type instanceof Class<?> plain) {
            checkPlain(node, plain, at, path);
        }
    }

    private void checkPlain(JsonNode node, Class<?> type, JsonPointer at, String path) {
        if (type.isRecord()) {
            checkRecord(node, type, at, path, Set.of());
        } else if (type == int.class || type == Integer.class) {
            checkWhole(node, Integer.MIN_VALUE, Integer.MAX_VALUE, at, path);
        } else if (type == long.class || type == Long.class) {
            checkWhole(node, Long.MIN_VALUE, Long.MAX_VALUE, at, path);
        } else if (type == double.class || type == Double.class) {
            boolean fits = node.isNumber()
                    ? Double.isFinite(node.doubleValue())
                    : node.isTextual() && NUMBER.matcher(node.textValue()).matches();
            require(fits, node, at, path, "a number");
        } else if (type == boolean.class || type == Boolean.class) {
            require(node.isBoolean(), node, at, path, "true or false");
        } else if (type == String.class) {
            require(node.isValueNode() && !node.isNull(), node, at, path, "text");
        } else if (type.isEnum()) {
            List<String> names =
                    Arrays.stream(type.getEnumConstants()).map(Object::toString).toList();
            require(node.isTextual() && names.contains(node.textValue()), node, at, path, "one of " + names);
        }
    }

    private void checkRecord(JsonNode node, Class<?> record, JsonPointer at, String path, Set<String> optional) {
        List<RecordComponent> components = Arrays.asList(record.getRecordComponents());
        List<String> known = components.stream().map(RecordComponent::getName).toList();
        require(node.isObject(), node, at, path, "a map of keys, which are " + known);
        // Before missing keys, so that a misspelt key is not told as a missing one.
        for (Map.Entry<String, JsonNode> entry : node.properties()) {
            String key = entry.getKey();
            if (!known.contains(key)) {
                String message = "The key (" + below(path, key) + ") of " + place(at.appendProperty(key))
                        + " must be one of " + known + ".";
                List<String> absent =
                        known.stream().filter(name -> !node.has(name)).toList();
                List<String> near = Nearest.among(key, absent.isEmpty() ? known : absent);
                throw near.isEmpty()
                        ? new UserError(message)
                        : new UserError(message, "Maybe write " + near.get(0) + ".");
            }
        }
        for (RecordComponent component : components) {
            String key = component.getName();
            JsonNode child = node.path(key);
            if ((child.isMissingNode() || child.isNull()) && optional.contains(key)) {
                continue;
            }
            if (child.isMissingNode()) {
                throw new UserError("The key (" + below(path, key) + ") of " + place(at) + " must be given.");
            }
            check(child, component.getGenericType(), at.appendProperty(key), below(path, key));
        }
    }

    private void checkWhole(JsonNode node, long least, long most, JsonPointer at, String path) {
        BigDecimal value;
        if (node.isNumber() && Double.isFinite(node.doubleValue())) {
            value = node.decimalValue();
        } else if (node.isTextual() && node.textValue().matches("-?\\d{1,18}")) {
            value = new BigDecimal(node.textValue());
        } else {
            throw wrong(node, at, path, "a whole number");
        }
        require(value.stripTrailingZeros().scale() <= 0, node, at, path, "a whole number");
        require(
                value.compareTo(BigDecimal.valueOf(least)) >= 0 && value.compareTo(BigDecimal.valueOf(most)) <= 0,
                node,
                at,
                path,
                "a whole number between " + least + " and " + most);
    }

    private void require(boolean fits, JsonNode node, JsonPointer at, String path, String constraint) {
        if (!fits) {
            throw wrong(node, at, path, constraint);
        }
    }

    // --- messages ---------------------------------------------------------------------------------

    private UserError wrong(JsonNode node, JsonPointer at, String path, String constraint) {
        if (path.isEmpty()) {
            boolean empty = node.isMissingNode() || node.isNull();
            return new UserError("The " + place(at) + " must be " + constraint + (empty ? ", but is empty." : "."));
        }
        if (node.isNull()) {
            return new UserError("The key (" + path + ") of " + place(at) + " must have a value: " + constraint + ".");
        }
        String value = (node.isValueNode() ? node.asText() : node.toString()).replaceAll("\\s+", " ");
        String message = "The " + path + " ("
                + (value.length() > LONGEST_VALUE ? value.substring(0, LONGEST_VALUE) + ".." : value) + ") of "
                + place(at) + " must be " + constraint + ".";
        String advice = constraint.endsWith("number") && node.isTextual() ? plainNumber(value) : "";
        return advice.isEmpty() ? new UserError(message) : new UserError(message, "Maybe write " + advice + ".");
    }

    /** A number that was written with a unit, or in another form, as digits; empty if it is none. */
    private static String plainNumber(String value) {
        Matcher quantity = QUANTITY.matcher(value);
        BigDecimal number;
        if (quantity.matches()) {
            int power = "KMGT".indexOf(Character.toUpperCase(quantity.group(2).charAt(0))) + 1;
            number = new BigDecimal(quantity.group(1))
                    .multiply(BigDecimal.valueOf(quantity.group(3).isEmpty() ? 1000 : 1024)
                            .pow(power));
        } else if (NUMBER.matcher(value).matches() && value.length() < 12) {
            number = new BigDecimal(value);
        } else {
            return "";
        }
        boolean whole = number.stripTrailingZeros().scale() <= 0 && number.precision() - number.scale() < 19;
        return whole ? number.toBigInteger().toString() : "";
    }

    private static String below(String path, String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    /** The text, and where it is in the file. */
    private String place(JsonPointer at) {
        int line = at.matches() ? 0 : line(at);
        return kind + " (" + source + (line > 0 ? ", line " + line : "") + ")";
    }

    /** The line of a key or an element; 0 if it is not in the text. */
    private int line(JsonPointer at) {
        try (JsonParser parser = mapper.createParser(text)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (parser.getParsingContext().pathAsPointer().equals(at)) {
                    return parser.currentTokenLocation().getLineNr();
                }
            }
            return 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

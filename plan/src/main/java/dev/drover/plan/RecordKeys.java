package dev.drover.plan;

import com.fasterxml.jackson.databind.JsonNode;
import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/** Checks the keys of a JSON or YAML tree against the components of the record that it is to become. */
public final class RecordKeys {
    private RecordKeys() {}

    /**
     * Fails with the nearest known key where a key is no component, through nested records and lists of records.
     *
     * @param source names the file in messages
     */
    public static void check(JsonNode tree, Class<?> record, String source) {
        check(tree, record, "", source);
    }

    private static void check(JsonNode tree, Type type, String path, String source) {
        if (type instanceof ParameterizedType list && list.getRawType() == List.class && tree.isArray()) {
            for (JsonNode element : tree) {
                check(element, list.getActualTypeArguments()[0], path, source);
            }
        }
        if (!(type instanceof Class<?> record) || !record.isRecord() || !tree.isObject()) {
            return;
        }
        List<RecordComponent> components = Arrays.asList(record.getRecordComponents());
        List<String> known = components.stream().map(RecordComponent::getName).toList();
        for (Iterator<String> keys = tree.fieldNames(); keys.hasNext(); ) {
            String key = keys.next();
            if (!known.contains(key)) {
                throw new UserError(
                        "The key (" + path + key + ") of " + source + " must be one of " + known + ".",
                        "Maybe write " + Nearest.of(key, known) + ".");
            }
        }
        for (RecordComponent component : components) {
            JsonNode child = tree.path(component.getName());
            check(child, component.getGenericType(), path + component.getName() + ".", source);
        }
    }
}

package dev.drover.plan.sim;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.Writer;

/** A simulated step as Chrome trace JSON: one process per worker, one thread per lane, a counter for memory. */
public final class ChromeTrace {
    private ChromeTrace() {}

    /** Writes the trace; the writer stays open. */
    public static void write(SimulatedStep step, Writer writer) throws IOException {
        try (JsonGenerator json = new JsonFactory()
                .createGenerator(writer)
                .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
                .useDefaultPrettyPrinter()) {
            json.writeStartObject();
            json.writeStringField("displayTimeUnit", "ms");
            json.writeArrayFieldStart("traceEvents");
            for (DeviceTime device : step.devices()) {
                name(
                        json,
                        "process_name",
                        device.rank(),
                        0,
                        "rank " + device.rank() + " (stage "
                                + step.stageByRank().get(device.rank()) + ")");
                for (Span.Lane lane : Span.Lane.values()) {
                    name(
                            json,
                            "thread_name",
                            device.rank(),
                            lane.ordinal(),
                            lane.name().toLowerCase(java.util.Locale.ROOT));
                }
            }
            for (Span span : step.spans()) {
                json.writeStartObject();
                json.writeStringField(
                        "name", span.microBatch() < 0 ? span.label() : span.label() + " m" + span.microBatch());
                json.writeStringField("ph", "X");
                json.writeNumberField("pid", span.rank());
                json.writeNumberField("tid", span.lane().ordinal());
                json.writeNumberField("ts", span.startNanos() / 1000);
                json.writeNumberField("dur", span.nanos() / 1000);
                json.writeEndObject();
            }
            for (MemoryUse memory : step.memory()) {
                for (MemoryUse.Point point : memory.curve()) {
                    json.writeStartObject();
                    json.writeStringField("name", "memory");
                    json.writeStringField("ph", "C");
                    json.writeNumberField("pid", memory.rank());
                    json.writeNumberField("ts", point.nanos() / 1000);
                    json.writeObjectFieldStart("args");
                    json.writeNumberField("bytes", point.bytes());
                    json.writeEndObject();
                    json.writeEndObject();
                }
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private static void name(JsonGenerator json, String what, int pid, int tid, String name) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", what);
        json.writeStringField("ph", "M");
        json.writeNumberField("pid", pid);
        json.writeNumberField("tid", tid);
        json.writeObjectFieldStart("args");
        json.writeStringField("name", name);
        json.writeEndObject();
        json.writeEndObject();
    }
}

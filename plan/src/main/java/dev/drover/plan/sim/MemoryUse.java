package dev.drover.plan.sim;

import dev.drover.plan.memory.MemoryKind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Memory of one device over a step, as its worker lays it out ({@link dev.drover.plan.memory.WorkerLayout}).
 *
 * @param peakBytes what the worker allocates
 * @param peakBytesByKind its parts at the fullest task; they add up
 * @param curve bytes in use after each change, in order of time
 */
public record MemoryUse(
        int rank, long limitBytes, long peakBytes, Map<MemoryKind, Long> peakBytesByKind, List<Point> curve) {

    /** Bytes from a time on. */
    public record Point(double nanos, long bytes) {}

    public MemoryUse {
        peakBytesByKind = Collections.unmodifiableMap(new EnumMap<>(peakBytesByKind));
        curve = List.copyOf(curve);
    }

    public boolean fits() {
        return peakBytes <= limitBytes;
    }

    /** {@code 3.0 GiB parameters, <0.1 GiB constants}, the largest first, all in its unit. */
    public String parts() {
        ByteUnit unit = ByteUnit.of(peakBytesByKind.values().stream());
        List<String> parts = new ArrayList<>();
        peakBytesByKind.entrySet().stream()
                .filter(e -> e.getValue() > 0)
                .sorted(Map.Entry.<MemoryKind, Long>comparingByValue().reversed())
                .forEach(e ->
                        parts.add(unit.text(e.getValue()) + " " + e.getKey().text()));
        return String.join(", ", parts);
    }

    /** Bytes for people, with the exact number where it is small. */
    public static String text(long bytes) {
        return ByteUnit.of(Stream.of(bytes)).text(bytes);
    }
}

package dev.drover.plan.sim;

import dev.drover.plan.memory.MemoryKind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Memory of one device over a step, as its worker lays it out ({@link dev.drover.plan.memory.WorkerLayout}).
 *
 * @param peakBytes what the worker allocates
 * @param peakBytesByKind its parts at the fullest task; they add up
 * @param curve bytes in use after each change, in order of time
 */
public record MemoryUse(
        int rank, long limitBytes, long peakBytes, Map<MemoryKind, Long> peakBytesByKind, List<Point> curve) {

    private static final int UNIT_BITS = 10;
    private static final String UNITS = "KMGT";
    /** Below, the exact number is as short. */
    private static final long SMALL_BYTES = 1 << 14;

    /** Bytes from a time on. */
    public record Point(double nanos, long bytes) {}

    public MemoryUse {
        peakBytesByKind = Collections.unmodifiableMap(new EnumMap<>(peakBytesByKind));
        curve = List.copyOf(curve);
    }

    public boolean fits() {
        return peakBytes <= limitBytes;
    }

    /** {@code 3.0 GiB parameters, 100 B constants}, the largest first. */
    public String parts() {
        List<String> parts = new ArrayList<>();
        peakBytesByKind.entrySet().stream()
                .filter(e -> e.getValue() > 0)
                .sorted(Map.Entry.<MemoryKind, Long>comparingByValue().reversed())
                .forEach(e -> parts.add(text(e.getValue()) + " " + e.getKey().text()));
        return String.join(", ", parts);
    }

    /** Bytes for people, the same wherever they are told: {@code 12.5 MiB}, with the exact number where it is small. */
    public static String text(long bytes) {
        if (bytes < SMALL_BYTES) {
            return bytes + " B";
        }
        int unit = Math.min((63 - Long.numberOfLeadingZeros(bytes)) / UNIT_BITS, UNITS.length());
        return String.format(
                Locale.ROOT, "%.1f %ciB", bytes / (double) (1L << UNIT_BITS * unit), UNITS.charAt(unit - 1));
    }
}

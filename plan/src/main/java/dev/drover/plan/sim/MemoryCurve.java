package dev.drover.plan.sim;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Adds up the memory of one device over time. */
final class MemoryCurve {
    private final int rank;
    private final long limitBytes;
    private final Map<MemoryKind, Long> nowByKind = new EnumMap<>(MemoryKind.class);
    private Map<MemoryKind, Long> peakByKind = new EnumMap<>(MemoryKind.class);
    private long now;
    private long peak;
    private final List<MemoryUse.Point> points = new ArrayList<>();

    MemoryCurve(int rank, long limitBytes) {
        this.rank = rank;
        this.limitBytes = limitBytes;
    }

    void change(double nanos, MemoryKind kind, long bytes) {
        if (bytes == 0) {
            return;
        }
        now += bytes;
        nowByKind.merge(kind, bytes, Long::sum);
        if (now > peak) {
            peak = now;
            peakByKind = new EnumMap<>(nowByKind);
        }
        points.add(new MemoryUse.Point(nanos, now));
    }

    MemoryUse use() {
        return new MemoryUse(rank, limitBytes, peak, peakByKind, points);
    }
}

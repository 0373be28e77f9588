package dev.drover.cli;

import dev.drover.plan.memory.MemoryKind;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.runtime.worker.TaskInterpreter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Memory of one worker: predicted, and what it allocated.
 *
 * @param predicted with its parts
 * @param allocatedBytes the most at one time
 * @param allocatedByKind as the worker laid it out
 */
record AllocatedMemory(MemoryUse predicted, long allocatedBytes, Map<MemoryKind, Long> allocatedByKind) {

    /** From what a worker told after loading and after its steps. */
    static AllocatedMemory of(MemoryUse predicted, Map<String, String> facts, long peakBytes) {
        Map<MemoryKind, Long> parts = new EnumMap<>(MemoryKind.class);
        for (MemoryKind kind : MemoryKind.values()) {
            String bytes = facts.get(TaskInterpreter.MEMORY + kind.name());
            if (bytes != null) {
                parts.put(kind, Long.parseLong(bytes));
            }
        }
        return new AllocatedMemory(predicted, peakBytes, parts);
    }

    /** Prints the parts of all workers, predicted and allocated where they differ. */
    static void print(List<AllocatedMemory> workers) {
        List<String> header = new ArrayList<>(List.of("memory", "predicted", "allocated", "error"));
        List<MemoryKind> kinds = new ArrayList<>();
        for (MemoryKind kind : MemoryKind.values()) {
            if (workers.stream().anyMatch(w -> w.part(kind) != 0 || w.predictedPart(kind) != 0)) {
                kinds.add(kind);
                header.add(kind.text());
            }
        }
        List<List<String>> rows = new ArrayList<>();
        for (AllocatedMemory worker : workers) {
            long predicted = worker.predicted().peakBytes();
            List<String> row = new ArrayList<>(List.of(
                    "worker " + worker.predicted().rank(),
                    MemoryUse.text(predicted),
                    MemoryUse.text(worker.allocatedBytes()),
                    String.format(
                            Locale.ROOT, "%+.1f %%", 100.0 * predicted / Math.max(1, worker.allocatedBytes()) - 100)));
            for (MemoryKind kind : kinds) {
                long part = worker.part(kind);
                long expected = worker.predictedPart(kind);
                row.add(MemoryUse.text(part) + (part == expected ? "" : " (not " + MemoryUse.text(expected) + ")"));
            }
            rows.add(row);
        }
        Output.table(header, rows);
    }

    private long part(MemoryKind kind) {
        return allocatedByKind.getOrDefault(kind, 0L);
    }

    private long predictedPart(MemoryKind kind) {
        return predicted.peakBytesByKind().getOrDefault(kind, 0L);
    }

    /** For {@code --json}. */
    Map<String, Object> json() {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("worker", predicted.rank());
        row.put("predictedBytes", predicted.peakBytes());
        row.put("allocatedBytes", allocatedBytes);
        row.put("predictedParts", byName(predicted.peakBytesByKind()));
        row.put("allocatedParts", byName(allocatedByKind));
        return row;
    }

    private static Map<String, Long> byName(Map<MemoryKind, Long> parts) {
        Map<String, Long> named = new LinkedHashMap<>();
        parts.forEach((kind, bytes) -> named.put(kind.key(), bytes));
        return named;
    }
}

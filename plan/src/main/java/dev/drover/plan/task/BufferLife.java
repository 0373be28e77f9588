package dev.drover.plan.task;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** When the buffers of a worker die. */
final class BufferLife {
    private BufferLife() {}

    /** One buffer: a value, and for values of micro-batches its number, else -1. */
    record Buffer(ValueRef value, int microBatch) {
        static Buffer of(ValueRef value, int microBatch) {
            return new Buffer(value, value.perMicroBatch() ? microBatch : -1);
        }
    }

    /** Buffers that a task reads. */
    static Set<Buffer> reads(Task task, List<Program> programs) {
        Set<Buffer> out = new LinkedHashSet<>();
        if (task instanceof Task.Run run) {
            for (ValueRef input : programs.get(run.program()).inputs()) {
                if (!input.equals(ValueRef.MICRO_BATCH_INDEX)) {
                    out.add(Buffer.of(input, run.microBatch()));
                }
            }
        } else if (task instanceof Task.Send send) {
            out.add(Buffer.of(send.value(), send.microBatch()));
        } else if (task instanceof Task.Accumulate accumulate) {
            out.add(Buffer.of(accumulate.from(), accumulate.microBatch()));
        } else if (task instanceof Task.Stack stack) {
            out.add(Buffer.of(stack.from(), stack.microBatch()));
        } else if (task instanceof Task.Update update) {
            out.add(Buffer.of(update.from(), -1));
        }
        return out;
    }

    /** Buffers that a task makes, or for accumulators changes. */
    static Set<Buffer> writes(Task task, List<Program> programs) {
        Set<Buffer> out = new LinkedHashSet<>();
        if (task instanceof Task.Run run) {
            for (ValueRef output : programs.get(run.program()).outputs()) {
                out.add(Buffer.of(output, run.microBatch()));
            }
        } else if (task instanceof Task.Receive receive) {
            out.add(Buffer.of(receive.value(), receive.microBatch()));
        } else if (task instanceof Task.Accumulate accumulate) {
            out.add(Buffer.of(accumulate.into(), -1));
        } else if (task instanceof Task.Stack stack) {
            out.add(Buffer.of(stack.into(), -1));
        } else if (task instanceof Task.Update update) {
            out.add(Buffer.of(update.state(), -1));
        }
        return out;
    }

    /** Whether a task takes its input with it. */
    static boolean consumes(Task task) {
        return task instanceof Task.Accumulate || task instanceof Task.Stack || task instanceof Task.Update;
    }

    /** The tasks with each state replaced as soon as neither the old nor the new value is used by other tasks any more. */
    static List<Task> withUpdates(List<Task> tasks, List<Program> programs, List<Task.Update> updates) {
        Map<Buffer, Integer> lastUse = new HashMap<>();
        for (int i = 0; i < tasks.size(); i++) {
            for (Buffer buffer : reads(tasks.get(i), programs)) {
                lastUse.put(buffer, i);
            }
            for (Buffer buffer : writes(tasks.get(i), programs)) {
                lastUse.put(buffer, i);
            }
        }
        Map<Integer, List<Task>> updatesByPosition = new HashMap<>();
        for (Task.Update update : updates) {
            int at = Math.max(
                    lastUse.getOrDefault(Buffer.of(update.from(), -1), -1),
                    lastUse.getOrDefault(Buffer.of(update.state(), -1), -1));
            updatesByPosition.computeIfAbsent(at, k -> new ArrayList<>()).add(update);
        }
        List<Task> out = new ArrayList<>(updatesByPosition.getOrDefault(-1, List.of()));
        for (int i = 0; i < tasks.size(); i++) {
            out.add(tasks.get(i));
            out.addAll(updatesByPosition.getOrDefault(i, List.of()));
        }
        return out;
    }

    /** State and fetched values, which are not freed. */
    static Set<ValueRef> kept(List<Feed> feeds, List<Fetch> fetches) {
        Set<ValueRef> kept = new HashSet<>();
        for (Feed feed : feeds) {
            if (feed.persistent()) {
                kept.add(feed.value());
            }
        }
        for (Fetch fetch : fetches) {
            kept.add(fetch.value());
        }
        return kept;
    }

    /** The tasks with each buffer freed after its last use; what is kept and what is consumed is left alone. */
    static List<Task> withFrees(List<Task> tasks, List<Program> programs, Set<ValueRef> kept) {
        Map<Buffer, Integer> lastUse = new HashMap<>();
        Set<Buffer> consumed = new HashSet<>();
        for (int i = 0; i < tasks.size(); i++) {
            Set<Buffer> used = reads(tasks.get(i), programs);
            if (consumes(tasks.get(i))) {
                consumed.addAll(used);
            }
            used.addAll(writes(tasks.get(i), programs));
            for (Buffer buffer : used) {
                lastUse.put(buffer, i);
            }
        }
        List<Task> out = new ArrayList<>();
        for (int i = 0; i < tasks.size(); i++) {
            Task task = tasks.get(i);
            out.add(task);
            Set<Buffer> used = reads(task, programs);
            used.addAll(writes(task, programs));
            for (Buffer buffer : used) {
                if (lastUse.getOrDefault(buffer, -1) == i
                        && !kept.contains(buffer.value())
                        && !consumed.contains(buffer)) {
                    out.add(new Task.Free(buffer.value(), buffer.microBatch()));
                }
            }
        }
        return out;
    }
}

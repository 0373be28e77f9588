package dev.drover.plan.text;

import dev.drover.ir.graph.Graph;
import dev.drover.ir.text.HloPrinter;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The text form of an execution plan: what {@code --dump} writes and what workers are sent. One line for each thing; programs are HLO
 * text up to a line {@code end}.
 *
 * <pre>
 *   execution-plan 1
 *   micro-batches 4
 *   program 0 FORWARD stage0.forward          stage, phase, name
 *   in x[m] w                                 [m]: one buffer for each micro-batch
 *   out y[m]
 *   HloModule ..
 *   end
 *   worker 0 0 0,1                            rank, stage, ranks of the mesh
 *   feed x[m] 3 step f32[16,8] 0:8:2:1 0:2:4:0    value, input, step or state, whole shape, cuts dim:stride:parts:index;
 *                                                 the last one is that of micro-batches, - if there is none
 *   run 0 2                                   program, micro-batch
 *   send y[m] f32[2,8] 2 3                    value, shape, micro-batch, rank
 *   receive dy[m] f32[2,8] 2 3
 *   accumulate dw[m] 2 dw SUM
 *   stack y[m] 2 ys f32[16,8] 0 4 4           from, micro-batch, into, whole shape, dim, stride, parts
 *   free y[m] 2
 *   update w.new w
 *   fetch loss 0 f32[]                        value, output, whole shape, cuts
 * </pre>
 */
public final class ExecutionPlanText {

    static final String HEADER = "execution-plan 1";
    static final String END = "end";
    static final String MICRO_BATCH_MARK = "[m]";

    private ExecutionPlanText() {}

    public static String print(ExecutionPlan plan) {
        StringBuilder out = new StringBuilder(HEADER).append('\n');
        out.append("micro-batches ").append(plan.microBatches()).append('\n');
        plan.programs().forEach(program -> print(program, out));
        plan.workers().forEach(worker -> print(worker, out));
        return out.toString();
    }

    private static void print(Program program, StringBuilder out) {
        line(out, "program", program.stage(), program.phase(), escape(program.name()));
        line(out, "in", refs(program.inputs()));
        line(out, "out", refs(program.outputs()));
        String hlo = HloPrinter.print(new Graph(program.computation().name(), program.computation()));
        out.append(hlo).append(hlo.endsWith("\n") ? "" : "\n").append(END).append('\n');
    }

    private static void print(WorkerPlan worker, StringBuilder out) {
        String mesh = worker.meshRanks().stream().map(String::valueOf).collect(Collectors.joining(","));
        line(out, "worker", worker.rank(), worker.stage(), mesh);
        for (Feed feed : worker.feeds()) {
            TensorSlice.@Nullable Cut cut = feed.microBatchCut();
            line(
                    out,
                    "feed",
                    ref(feed.value()),
                    feed.input(),
                    feed.persistent() ? "state" : "step",
                    slice(feed.slice()),
                    cut == null ? "-" : cut(cut));
        }
        worker.tasks().forEach(task -> print(task, out));
        for (Fetch fetch : worker.fetches()) {
            line(out, "fetch", ref(fetch.value()), fetch.output(), slice(fetch.slice()));
        }
    }

    private static void print(Task task, StringBuilder out) {
        if (task instanceof Task.Run run) {
            line(out, "run", run.program(), run.microBatch());
        } else if (task instanceof Task.Send send) {
            line(out, "send", ref(send.value()), send.shape(), send.microBatch(), send.toRank());
        } else if (task instanceof Task.Receive receive) {
            line(out, "receive", ref(receive.value()), receive.shape(), receive.microBatch(), receive.fromRank());
        } else if (task instanceof Task.Accumulate accumulate) {
            line(
                    out,
                    "accumulate",
                    ref(accumulate.from()),
                    accumulate.microBatch(),
                    ref(accumulate.into()),
                    accumulate.reduction());
        } else if (task instanceof Task.Stack stack) {
            line(
                    out,
                    "stack",
                    ref(stack.from()),
                    stack.microBatch(),
                    ref(stack.into()),
                    stack.wholeShape(),
                    stack.dim(),
                    stack.stride(),
                    stack.parts());
        } else if (task instanceof Task.Free free) {
            line(out, "free", ref(free.value()), free.microBatch());
        } else if (task instanceof Task.Update update) {
            line(out, "update", ref(update.from()), ref(update.state()));
        }
    }

    private static void line(StringBuilder out, Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            String text = word.toString();
            line.append(line.isEmpty() || text.isEmpty() ? "" : " ").append(text);
        }
        out.append(line).append('\n');
    }

    private static String refs(List<ValueRef> values) {
        return values.stream().map(ExecutionPlanText::ref).collect(Collectors.joining(" "));
    }

    private static String ref(ValueRef value) {
        return escape(value.name()) + (value.perMicroBatch() ? MICRO_BATCH_MARK : "");
    }

    private static String slice(TensorSlice slice) {
        return slice.cuts().stream()
                .map(cut -> " " + cut(cut))
                .collect(Collectors.joining("", slice.whole().toString(), ""));
    }

    private static String cut(TensorSlice.Cut cut) {
        return cut.dim() + ":" + cut.stride() + ":" + cut.parts() + ":" + cut.index();
    }

    /** Names are words: no white space, and no mark of ours at the end. */
    private static String escape(String name) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean mark = name.startsWith(MICRO_BATCH_MARK, i);
            out.append(c <= ' ' || c == '%' || mark ? String.format("%%%04x", (int) c) : String.valueOf(c));
        }
        return out.toString();
    }

    /** The plan of a text that {@link #print} has made. */
    public static ExecutionPlan parse(String text) {
        return new ExecutionPlanParser(text).plan();
    }
}

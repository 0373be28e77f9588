package dev.drover.plan.text;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Reads what {@link ExecutionPlanText} prints. */
final class ExecutionPlanParser {

    private final Iterator<String> lines;
    private int number;
    private String[] words = {};
    private int at;

    private final List<WorkerPlan> workers = new ArrayList<>();
    private @Nullable WorkerPlan head;
    private final List<Feed> feeds = new ArrayList<>();
    private final List<Task> tasks = new ArrayList<>();
    private final List<Fetch> fetches = new ArrayList<>();

    ExecutionPlanParser(String text) {
        this.lines = text.lines().iterator();
    }

    ExecutionPlan plan() {
        if (!nextLine().equals(ExecutionPlanText.HEADER)) {
            throw wrong("The text must begin with (" + ExecutionPlanText.HEADER + ")");
        }
        int microBatches = 0;
        List<Program> programs = new ArrayList<>();
        try {
            while (lines.hasNext()) {
                split(nextLine());
                switch (word()) {
                    case "micro-batches" -> microBatches = integer();
                    case "program" -> programs.add(program());
                    case "worker" -> {
                        finishWorker();
                        head = new WorkerPlan(integer(), integer(), ranks(word()), List.of(), List.of(), List.of());
                    }
                    default -> {
                        at = 0;
                        workerLine();
                    }
                }
            }
        } catch (NumberFormatException e) {
            throw wrong("The number (" + e.getMessage() + ") must be one");
        }
        finishWorker();
        return new ExecutionPlan(microBatches, programs, workers);
    }

    private void finishWorker() {
        if (head != null) {
            workers.add(new WorkerPlan(head.rank(), head.stage(), head.meshRanks(), feeds, tasks, fetches));
        }
        feeds.clear();
        tasks.clear();
        fetches.clear();
    }

    private Program program() {
        int stage = integer();
        Phase phase = Phase.valueOf(word());
        String name = unescape(word());
        split(nextLine());
        expect("in");
        List<ValueRef> inputs = remainingRefs();
        split(nextLine());
        expect("out");
        List<ValueRef> outputs = remainingRefs();
        StringBuilder hlo = new StringBuilder();
        for (String line = nextLine(); !line.equals(ExecutionPlanText.END); line = nextLine()) {
            hlo.append(line).append('\n');
        }
        return new Program(name, stage, phase, HloReader.read(name, hlo).entry(), inputs, outputs);
    }

    private void workerLine() {
        switch (word()) {
            case "feed" -> feeds.add(feed());
            case "fetch" -> fetches.add(new Fetch(ref(), integer(), slice(words.length)));
            case "run" -> tasks.add(new Task.Run(integer(), integer()));
            case "send" -> tasks.add(new Task.Send(ref(), shape(), integer(), integer()));
            case "receive" -> tasks.add(new Task.Receive(ref(), shape(), integer(), integer()));
            case "accumulate" -> tasks.add(new Task.Accumulate(ref(), integer(), ref(), Reduction.valueOf(word())));
            case "stack" ->
                tasks.add(
                        new Task.Stack(ref(), integer(), ref(), shape(), integer(), Long.parseLong(word()), integer()));
            case "free" -> tasks.add(new Task.Free(ref(), integer()));
            case "update" -> tasks.add(new Task.Update(ref(), ref()));
            default -> throw wrong("The word (" + words[0] + ") must be known");
        }
    }

    private Feed feed() {
        ValueRef value = ref();
        int input = integer();
        boolean persistent = word().equals("state");
        TensorSlice slice = slice(words.length - 1);
        String last = word();
        return new Feed(value, input, slice, persistent, last.equals("-") ? null : cut(last));
    }

    private TensorSlice slice(int end) {
        ArrayShape whole = shape();
        List<TensorSlice.Cut> cuts = new ArrayList<>();
        while (at < end) {
            cuts.add(cut(word()));
        }
        return new TensorSlice(whole, cuts);
    }

    private TensorSlice.Cut cut(String word) {
        String[] parts = word.split(":");
        if (parts.length != 4) {
            throw wrong("The cut (" + word + ") must be dim:stride:parts:index");
        }
        return new TensorSlice.Cut(
                Integer.parseInt(parts[0]),
                Long.parseLong(parts[1]),
                Integer.parseInt(parts[2]),
                Integer.parseInt(parts[3]));
    }

    private ArrayShape shape() {
        String word = word();
        int bracket = word.indexOf('[');
        if (bracket < 0 || !word.endsWith("]")) {
            throw wrong("The shape (" + word + ") must be like f32[2,3]");
        }
        DType dtype = Objects.requireNonNull(DType.byHloName(word.substring(0, bracket)), word);
        String dims = word.substring(bracket + 1, word.length() - 1);
        return dims.isEmpty()
                ? ArrayShape.scalar(dtype)
                : ArrayShape.of(
                        dtype,
                        Arrays.stream(dims.split(","))
                                .mapToLong(Long::parseLong)
                                .toArray());
    }

    private List<ValueRef> remainingRefs() {
        List<ValueRef> refs = new ArrayList<>();
        while (at < words.length) {
            refs.add(ref());
        }
        return refs;
    }

    private ValueRef ref() {
        String word = word();
        String mark = ExecutionPlanText.MICRO_BATCH_MARK;
        boolean perMicroBatch = word.endsWith(mark);
        String name = perMicroBatch ? word.substring(0, word.length() - mark.length()) : word;
        return new ValueRef(unescape(name), perMicroBatch);
    }

    private static String unescape(String word) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < word.length(); i++) {
            if (word.charAt(i) == '%') {
                out.append((char) Integer.parseInt(word.substring(i + 1, i + 5), 16));
                i += 4;
            } else {
                out.append(word.charAt(i));
            }
        }
        return out.toString();
    }

    private String nextLine() {
        if (!lines.hasNext()) {
            throw wrong("The text must go on");
        }
        number++;
        return lines.next();
    }

    private void split(String line) {
        words = line.split(" ");
        at = 0;
    }

    private String word() {
        if (at >= words.length) {
            throw wrong("The line must have more words");
        }
        return words[at++];
    }

    private int integer() {
        return Integer.parseInt(word());
    }

    private void expect(String wanted) {
        if (!word().equals(wanted)) {
            throw wrong("The line must begin with (" + wanted + ")");
        }
    }

    private static List<Integer> ranks(String list) {
        return Arrays.stream(list.split(",")).map(Integer::valueOf).toList();
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException(what + " in line (" + number + ") of the execution plan.");
    }
}

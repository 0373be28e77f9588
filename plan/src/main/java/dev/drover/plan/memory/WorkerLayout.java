package dev.drover.plan.memory;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Lookahead;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * All memory of one worker: which bytes it allocates, for what, and where each value lies. The worker allocates one piece of {@link
 * #totalBytes} when it loads and nothing after; the simulator reads the same layout, so what is predicted is what is allocated.
 *
 * <p>Everything follows from the order of the tasks, not from times:
 *
 * <pre>
 *   state                      always                     (a new value lies in its place if the program can write it there)
 *   input data                 from its first use to its last
 *   what a program makes       from the program to its last use; what can be fetched to the end of the step
 *   received values            from the receive before which it is posted (see Lookahead)
 *   sent values                until the send before which it must have left
 *   sums over micro-batches    in the place of the first term, unless that is sent
 *   a program's pool           during each of its runs
 * </pre>
 */
public final class WorkerLayout {
    private final List<Region> regions;
    private final Map<Key, Integer> regionByKey;
    private final Map<Integer, Integer> poolByProgram;
    private final Map<Integer, Integer> constantsByProgram;
    private final Map<Integer, Map<Integer, Integer>> donationsByProgram;
    private final int tasks;
    private final long totalBytes;

    /** A value of a micro-batch, or of the step (-1). */
    private record Key(ValueRef value, int microBatch) {
        static Key of(ValueRef value, int microBatch) {
            return new Key(value, value.perMicroBatch() ? microBatch : -1);
        }

        String text() {
            return microBatch < 0 ? value.name() : value.name() + ", micro-batch " + microBatch;
        }
    }

    private WorkerLayout(Builder builder) {
        this.regions = Placement.place(builder.regions(), builder.turns());
        this.regionByKey = Map.copyOf(builder.regionByKey);
        this.poolByProgram = Map.copyOf(builder.poolByProgram);
        this.constantsByProgram = Map.copyOf(builder.constantsByProgram);
        this.donationsByProgram = Map.copyOf(builder.donationsByProgram);
        this.tasks = builder.tasks.size();
        this.totalBytes = regions.stream()
                .mapToLong(region -> region.offsetBytes() + Region.aligned(region.sizeBytes()))
                .max()
                .orElse(0);
    }

    /** The layout of one worker. Its programs are asked for in the order of their first runs. */
    public static WorkerLayout of(ExecutionPlan plan, WorkerPlan worker, DeviceMemory memory) {
        return new WorkerLayout(new Builder(plan, worker, memory).build());
    }

    /** What the worker allocates. */
    public long totalBytes() {
        return totalBytes;
    }

    /** All regions; values that follow each other in one place are one. */
    public List<Region> regions() {
        return regions;
    }

    /** Where a value lies; the number of the micro-batch does not matter for values of the step. */
    public Region region(ValueRef value, int microBatch) {
        Integer region = regionByKey.get(Key.of(value, microBatch));
        if (region == null) {
            throw new IllegalArgumentException(
                    "The value (" + Key.of(value, microBatch).text() + ") must be one of the worker's.");
        }
        return regions.get(region);
    }

    /** Where a program keeps its temporaries. */
    public Region pool(int program) {
        return regions.get(number(poolByProgram, program));
    }

    /** Where a program keeps its constants. */
    public Region constants(int program) {
        return regions.get(number(constantsByProgram, program));
    }

    /** By output of a program the input in whose place it is written. */
    public Map<Integer, Integer> donations(int program) {
        return donationsByProgram.getOrDefault(program, Map.of());
    }

    private static int number(Map<Integer, Integer> byProgram, int program) {
        Integer region = byProgram.get(program);
        if (region == null) {
            throw new IllegalArgumentException("The program (" + program + ") must be one of the worker's.");
        }
        return region;
    }

    /** By task: bytes that hold something while it runs; one more for the time after the step. */
    public long[] liveBytesByTask() {
        long[] change = new long[tasks + 2];
        for (Region region : regions) {
            long bytes = Region.aligned(region.sizeBytes());
            if (region.alwaysLive()) {
                change[0] += bytes;
            }
            for (Region.Life life : region.alwaysLive() ? List.<Region.Life>of() : region.lives()) {
                change[life.firstTask()] += bytes;
                change[life.lastTask() + 1] -= bytes;
            }
        }
        long[] live = new long[tasks + 1];
        long now = 0;
        for (int task = 0; task <= tasks; task++) {
            now += change[task];
            live[task] = now;
        }
        return live;
    }

    /** What holds something at the fullest task, and what is unused then; the parts add up to {@link #totalBytes}. */
    public Map<MemoryKind, Long> bytesByKind() {
        long[] live = liveBytesByTask();
        int fullest = 0;
        for (int task = 0; task < live.length; task++) {
            fullest = live[task] > live[fullest] ? task : fullest;
        }
        Map<MemoryKind, Long> bytes = new EnumMap<>(MemoryKind.class);
        for (Region region : regions) {
            if (region.isLiveAt(fullest)) {
                bytes.merge(region.kind(), Region.aligned(region.sizeBytes()), Long::sum);
            }
        }
        if (totalBytes > live[fullest]) {
            bytes.put(MemoryKind.UNUSED, totalBytes - live[fullest]);
        }
        return Collections.unmodifiableMap(bytes);
    }

    private static final class Builder {
        private final ExecutionPlan plan;
        private final WorkerPlan worker;
        private final List<Task> tasks;
        private final DeviceMemory memory;
        private final ValueKinds kinds;
        private final Donations donations;
        private final List<Draft> drafts = new ArrayList<>();
        private final Map<Key, Integer> regionByKey = new LinkedHashMap<>();
        private final Map<Integer, Integer> poolByProgram = new HashMap<>();
        private final Map<Integer, Integer> constantsByProgram = new HashMap<>();
        private final Map<Integer, Map<Integer, Integer>> donationsByProgram = new HashMap<>();
        private final Map<ValueRef, Feed> feedByValue = new HashMap<>();
        private final Map<ValueRef, ValueRef> stateByNewValue = new HashMap<>();
        private final Set<ValueRef> fetched = new HashSet<>();
        private final Set<ValueRef> sent = new HashSet<>();

        /** A region before it is placed. */
        private static final class Draft {
            final MemoryKind kind;
            final String name;
            final long sizeBytes;
            boolean alwaysLive;
            final List<Region.Life> lives = new ArrayList<>();

            Draft(MemoryKind kind, String name, long sizeBytes) {
                this.kind = kind;
                this.name = name;
                this.sizeBytes = sizeBytes;
            }

            /** Makes the only life include a task. */
            void include(int task) {
                if (lives.isEmpty()) {
                    lives.add(new Region.Life(task, task));
                } else {
                    Region.Life life = lives.get(0);
                    lives.set(0, new Region.Life(Math.min(life.firstTask(), task), Math.max(life.lastTask(), task)));
                }
            }
        }

        Builder(ExecutionPlan plan, WorkerPlan worker, DeviceMemory memory) {
            this.plan = plan;
            this.worker = worker;
            this.tasks = worker.tasks();
            this.memory = memory;
            this.kinds = new ValueKinds(plan, worker);
            this.donations = new Donations(plan.programs(), tasks);
            for (Feed feed : worker.feeds()) {
                feedByValue.put(feed.value(), feed);
            }
            for (Fetch fetch : worker.fetches()) {
                fetched.add(fetch.value());
            }
            for (Task task : tasks) {
                if (task instanceof Task.Update update) {
                    stateByNewValue.put(update.from(), update.state());
                } else if (task instanceof Task.Send send) {
                    sent.add(send.value());
                }
            }
        }

        /** Frees make room one by one, but nothing new is made between them. */
        IntUnaryOperator turns() {
            int[] turnByTask = new int[tasks.size() + 1];
            int turn = 0;
            for (int task = 0; task < tasks.size(); task++) {
                turn += tasks.get(task) instanceof Task.Free ? 0 : 1;
                turnByTask[task] = turn;
            }
            turnByTask[tasks.size()] = turn + 1;
            return task -> turnByTask[task];
        }

        List<Region> regions() {
            return drafts.stream()
                    .map(draft -> new Region(draft.kind, draft.name, 0, draft.sizeBytes, draft.alwaysLive, draft.lives))
                    .toList();
        }

        Builder build() {
            for (Feed feed : worker.feeds()) {
                if (feed.persistent()) {
                    Draft state = add(Key.of(feed.value(), -1), feed.shape());
                    state.alwaysLive = true;
                }
            }
            for (int microBatch = 0; microBatch < plan.microBatches(); microBatch++) {
                Key key = new Key(ValueRef.MICRO_BATCH_INDEX, microBatch);
                regionByKey.put(key, drafts.size());
                long bytes = memory.sizeBytes(ArrayShape.scalar(DType.S32));
                drafts.add(new Draft(MemoryKind.CONSTANTS, key.text(), bytes));
                drafts.get(drafts.size() - 1).alwaysLive = true;
            }
            for (int at = 0; at < tasks.size(); at++) {
                place(tasks.get(at), at);
            }
            lookAhead();
            regionByKey.forEach((key, region) -> {
                if (fetched.contains(key.value()) && !drafts.get(region).alwaysLive) {
                    drafts.get(region).include(tasks.size());
                }
            });
            return this;
        }

        private Draft add(Key key, ArrayShape shape) {
            Draft draft = new Draft(kinds.of(key.value()), key.text(), memory.sizeBytes(shape));
            regionByKey.put(key, drafts.size());
            drafts.add(draft);
            return draft;
        }

        private Draft draft(ValueRef value, int microBatch) {
            Key key = Key.of(value, microBatch);
            Integer region = regionByKey.get(key);
            if (region != null) {
                return drafts.get(region);
            }
            Feed feed = feedByValue.get(value);
            if (feed == null) {
                throw new IllegalStateException(
                        "The value (" + key.text() + ") of rank (" + worker.rank() + ") must be made before its use.");
            }
            return add(key, feed.shape());
        }

        private void place(Task task, int at) {
            if (task instanceof Task.Run run) {
                run(run, at);
            } else if (task instanceof Task.Send send) {
                draft(send.value(), send.microBatch()).include(at);
            } else if (task instanceof Task.Receive receive) {
                add(Key.of(receive.value(), receive.microBatch()), receive.shape())
                        .include(at);
            } else if (task instanceof Task.Accumulate accumulate) {
                accumulate(accumulate, at);
            } else if (task instanceof Task.Stack stack) {
                draft(stack.from(), stack.microBatch()).include(at);
                Key into = Key.of(stack.into(), -1);
                if (!regionByKey.containsKey(into)) {
                    add(into, stack.wholeShape());
                }
                draft(stack.into(), -1).include(at);
            } else if (task instanceof Task.Free free) {
                draft(free.value(), free.microBatch()).include(at);
            } else if (task instanceof Task.Update update) {
                draft(update.from(), -1).include(at);
            }
        }

        private void accumulate(Task.Accumulate accumulate, int at) {
            Draft from = draft(accumulate.from(), accumulate.microBatch());
            from.include(at);
            Key into = Key.of(accumulate.into(), -1);
            if (!regionByKey.containsKey(into)) {
                Key first = Key.of(accumulate.from(), accumulate.microBatch());
                if (sent.contains(accumulate.from()) || from.alwaysLive) {
                    // The sum is written to while the term may still be read.
                    Draft sum = new Draft(kinds.of(accumulate.into()), into.text(), from.sizeBytes);
                    regionByKey.put(into, drafts.size());
                    drafts.add(sum);
                } else {
                    regionByKey.put(into, regionByKey.getOrDefault(first, -1));
                }
            }
            draft(accumulate.into(), -1).include(at);
        }

        private void run(Task.Run run, int at) {
            Program program = plan.programs().get(run.program());
            if (!poolByProgram.containsKey(run.program())) {
                load(run.program(), program);
            }
            drafts.get(number(poolByProgram, run.program())).lives.add(new Region.Life(at, at));
            for (ValueRef input : program.inputs()) {
                draft(input, run.microBatch()).include(at);
            }
            Map<Integer, Integer> donors = donationsByProgram.getOrDefault(run.program(), Map.of());
            Map<Integer, ValueRef> places = donations.places(run.program());
            List<Instruction> results = program.computation().root().operands();
            for (int i = 0; i < program.outputs().size(); i++) {
                Key key = Key.of(program.outputs().get(i), run.microBatch());
                @Nullable Integer donor = donors.get(i);
                if (donor != null) {
                    Key state = Key.of(program.inputs().get(donor), -1);
                    regionByKey.put(key, regionByKey.getOrDefault(state, -1));
                } else if (places.containsKey(i)) {
                    Key state = Key.of(places.getOrDefault(i, key.value()), -1);
                    regionByKey.put(key, regionByKey.getOrDefault(state, -1));
                } else if (regionByKey.containsKey(key)) {
                    draft(program.outputs().get(i), run.microBatch()).include(at);
                } else {
                    add(key, results.get(i).array()).include(at);
                }
            }
        }

        private void load(int number, Program program) {
            Map<Integer, Integer> ofProgram = donations.of(number);
            ProgramFootprint footprint = memory.footprint(program, ofProgram, worker);
            Map<Integer, Integer> kept = new HashMap<>(ofProgram);
            kept.keySet().retainAll(footprint.donationsKept());
            donationsByProgram.put(number, kept);
            poolByProgram.put(number, drafts.size());
            drafts.add(new Draft(MemoryKind.TEMPORARIES, "pool of " + program.name(), footprint.poolBytes()));
            constantsByProgram.put(number, drafts.size());
            Draft constants =
                    new Draft(MemoryKind.CONSTANTS, "constants of " + program.name(), footprint.constantBytes());
            constants.alwaysLive = true;
            drafts.add(constants);
        }

        /** Received values live from when they are posted, sent ones until they must have left. */
        private void lookAhead() {
            List<Integer> receives = new ArrayList<>();
            Deque<Draft> leaving = new ArrayDeque<>();
            for (int at = 0; at < tasks.size(); at++) {
                if (tasks.get(at) instanceof Task.Receive receive) {
                    int ahead = receives.size() - Lookahead.RECEIVES;
                    draft(receive.value(), receive.microBatch()).include(ahead < 0 ? 0 : receives.get(ahead));
                    receives.add(at);
                } else if (tasks.get(at) instanceof Task.Send send) {
                    if (leaving.size() == Lookahead.SENDS) {
                        leaving.removeFirst().include(at);
                    }
                    leaving.addLast(draft(send.value(), send.microBatch()));
                }
            }
            leaving.forEach(draft -> draft.include(tasks.size()));
        }
    }
}

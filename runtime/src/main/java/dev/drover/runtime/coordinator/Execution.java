package dev.drover.runtime.coordinator;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.plan.text.ExecutionPlanText;
import dev.drover.runtime.checkpoint.StoredState;
import dev.drover.runtime.wire.SliceBytes;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.runtime.worker.InitialState;
import dev.drover.runtime.worker.StepReport;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An execution plan on a cluster, in terms of the training step: inputs and outputs are whole values, and it knows who holds which
 * slice. Used from one thread.
 */
public final class Execution {

    private final Cluster cluster;
    private final ExecutionPlan plan;
    private final List<Map<String, String>> facts;

    private Execution(Cluster cluster, ExecutionPlan plan, List<Map<String, String>> facts) {
        this.cluster = cluster;
        this.plan = plan;
        this.facts = facts;
    }

    /**
     * Connects the workers, sends each its part of the plan, and makes the initial state where it lives.
     *
     * @param initial rules for state inputs; others are set by {@link #setState}
     * @param timeout how long a collective or transfer may wait for its peers
     */
    public static Execution load(Cluster cluster, ExecutionPlan plan, InitialState initial, Duration timeout) {
        if (plan.workers().size() != cluster.size()) {
            throw new IllegalArgumentException("The workers (" + plan.workers().size()
                    + ") of the plan must be those of the cluster (" + cluster.size() + ").");
        }
        if (cluster.size() > 1) {
            cluster.connect(CommunicatorGroups.of(plan), timeout);
        }
        List<Map<String, String>> facts = cluster.load(
                rank -> ExecutionPlanText.print(partOf(plan, rank)).getBytes(StandardCharsets.UTF_8),
                initial.toOptions());
        return new Execution(cluster, plan, facts);
    }

    /** What one worker needs of a plan: its tasks, and the programs up to the last one of its stage. */
    private static ExecutionPlan partOf(ExecutionPlan plan, int rank) {
        WorkerPlan worker = plan.workers().get(rank);
        List<Program> programs = new ArrayList<>();
        for (Program program : plan.programs()) {
            // Tasks name programs by number, so those of other stages leave an empty place.
            programs.add(program.stage() == worker.stage() ? program : NoProgram.in(program));
        }
        return new ExecutionPlan(plan.microBatches(), programs, List.of(worker));
    }

    /** What each worker tells about its programs, by rank. */
    public List<Map<String, String>> facts() {
        return facts;
    }

    // --- inputs -----------------------------------------------------------------------------------

    /** Replaces a state input everywhere. */
    public void setState(int input, Literal whole) {
        setState(input, TensorBytes.of(whole));
    }

    /** Replaces a state input everywhere; what is in memory of it at once is a piece. */
    public void setState(int input, TensorBytes whole) {
        setState(input, slice -> SliceBytes.of(whole, List.of(slice)));
    }

    /**
     * Replaces a state input everywhere, one worker after the other.
     *
     * @param part the elements of a slice
     */
    void setState(int input, Function<TensorSlice, TensorBytes> part) {
        for (WorkerPlan worker : plan.workers()) {
            for (Feed feed : worker.feeds()) {
                if (feed.input() == input) {
                    if (!feed.persistent()) {
                        throw new IllegalArgumentException("The input (" + input + ") must be fed for each step.");
                    }
                    ArrayShape local = feed.slice().local();
                    cluster.putAll(
                            List.of(new Cluster.Put(worker.rank(), feed.wireName(), local, part.apply(feed.slice()))));
                }
            }
        }
    }

    /** Gives a data input for the next step that has none yet. */
    public void feed(int input, Literal whole) {
        cluster.putAll(puts(input, TensorBytes.of(whole)));
    }

    /** Gives the data inputs of some steps, by input, at once; what is in memory of a large one at once is a piece for each worker. */
    public void feed(List<Map<Integer, TensorBytes>> steps) {
        List<Cluster.Put> puts = new ArrayList<>();
        for (Map<Integer, TensorBytes> step : steps) {
            step.forEach((input, whole) -> puts.addAll(puts(input, whole)));
        }
        cluster.putAll(puts);
    }

    private List<Cluster.Put> puts(int input, TensorBytes whole) {
        List<Cluster.Put> puts = new ArrayList<>();
        for (WorkerPlan worker : plan.workers()) {
            for (Feed feed : worker.feeds()) {
                if (feed.input() == input) {
                    if (feed.persistent()) {
                        throw new IllegalArgumentException("The input (" + input + ") must be set as state.");
                    }
                    puts.add(put(worker.rank(), feed, whole));
                }
            }
        }
        return puts;
    }

    /** The part of a value that a worker holds, micro-batches stacked along a new first dim. */
    private Cluster.Put put(int rank, Feed feed, TensorBytes whole) {
        TensorSlice.@Nullable Cut cut = feed.microBatchCut();
        if (!feed.value().perMicroBatch()) {
            List<TensorSlice> slice = List.of(feed.slice());
            return new Cluster.Put(rank, feed.wireName(), feed.slice().local(), SliceBytes.of(whole, slice));
        }
        List<TensorSlice> parts = new ArrayList<>();
        for (int m = 0; m < plan.microBatches(); m++) {
            parts.add(
                    cut == null
                            ? feed.slice()
                            : feed.slice().with(new TensorSlice.Cut(cut.dim(), cut.stride(), cut.parts(), m)));
        }
        ArrayShape part = parts.get(0).local();
        long[] dims = new long[part.rank() + 1];
        dims[0] = parts.size();
        System.arraycopy(part.dims(), 0, dims, 1, part.rank());
        return new Cluster.Put(rank, feed.wireName(), part.withDims(dims), SliceBytes.of(whole, parts));
    }

    // --- steps ------------------------------------------------------------------------------------

    /**
     * Runs steps; the data inputs of all of them must have been fed.
     *
     * @param perStep called after each step with the reports of all workers, by rank
     */
    public void run(long firstStep, int steps, Consumer<List<StepReport>> perStep) {
        cluster.run(firstStep, steps, perStep);
    }

    /** A number among the outputs, such as the loss, from the reports of a step; NaN when no worker reports it. */
    public static double scalar(List<StepReport> reports, int output) {
        return reports.stream()
                .flatMap(report -> report.scalars().entrySet().stream())
                .filter(entry -> entry.getKey().equals("output:" + output))
                .mapToDouble(Map.Entry::getValue)
                .findFirst()
                .orElse(Double.NaN);
    }

    // --- checkpoints ------------------------------------------------------------------------------

    /**
     * Saves all state inputs into a new folder under {@code root}, each worker its slices, and returns that folder.
     *
     * @param inputNames names of the training step's inputs, by number; a checkpoint is read by them
     * @param step steps that are done
     */
    public Path save(List<String> inputNames, Path root, long step) {
        return Checkpoints.save(cluster, plan, inputNames, root, step);
    }

    /**
     * Restores all state inputs from a checkpoint of this model, which may have been written under another plan.
     *
     * @param inputNames names of the training step's inputs, by number
     */
    public void restore(List<String> inputNames, StoredState stored) {
        SortedSet<Integer> inputs = new TreeSet<>();
        for (WorkerPlan worker : plan.workers()) {
            for (Feed feed : worker.feeds()) {
                if (feed.persistent()) {
                    inputs.add(feed.input());
                }
            }
        }
        inputs.forEach(input -> setState(input, stored.parts(inputNames.get(input))));
    }

    // --- outputs ----------------------------------------------------------------------------------

    /** An output of the last step, put together from the slices of the workers. */
    public Literal output(int output) {
        @Nullable Literal whole = null;
        for (WorkerPlan worker : plan.workers()) {
            for (Fetch fetch : worker.fetches()) {
                if (fetch.output() == output) {
                    whole = insert(worker.rank(), "output:" + output, fetch.slice(), whole);
                }
            }
        }
        return present(whole, "output", output);
    }

    /** A state input as it is now. */
    public Literal state(int input) {
        @Nullable Literal whole = null;
        for (WorkerPlan worker : plan.workers()) {
            for (Feed feed : worker.feeds()) {
                if (feed.input() == input && feed.persistent()) {
                    whole = insert(worker.rank(), feed.wireName(), feed.slice(), whole);
                }
            }
        }
        return present(whole, "state input", input);
    }

    private Literal insert(int rank, String name, TensorSlice slice, @Nullable Literal into) {
        Literal whole = into == null ? Literal.zeros(slice.whole()) : into;
        Literal part = slice.cuts().isEmpty() ? whole : Literal.zeros(slice.local());
        int elementBytes = Math.toIntExact(part.dtype().sizeBytes(1));
        cluster.fetch(
                rank,
                name,
                (shape, offset, bytes) -> Bits.read(
                        bytes, part, Math.toIntExact(offset / elementBytes), bytes.remaining() / elementBytes));
        if (!slice.cuts().isEmpty()) {
            slice.insert(part, whole);
        }
        return whole;
    }

    private static Literal present(@Nullable Literal whole, String kind, int number) {
        if (whole == null) {
            throw new IllegalArgumentException("The " + kind + " (" + number + ") must be held by a worker.");
        }
        return whole;
    }
}

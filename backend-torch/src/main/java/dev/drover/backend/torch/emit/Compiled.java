package dev.drover.backend.torch.emit;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.comm.Communicators;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * A program whose memory is planned.
 *
 * @param inputs shapes of the parameters' leaves
 * @param outputs how each output leaf is made
 * @param poolBytes size of the pool
 */
public record Compiled(
        List<ArrayShape> inputs,
        List<Output> outputs,
        long poolBytes,
        List<String> hostSteps,
        int stepCount,
        Code code) {

    /**
     * One output leaf.
     *
     * @param fromInput the input whose memory it takes over, or -1
     */
    public record Output(ArrayShape shape, int fromInput) {}

    /** What is needed to bind. */
    public static final class Code {
        private final List<Step> steps;
        private final List<Step> constantSteps;
        private final List<Buffer> buffers;
        private final Map<Buffer, Literal> literals;

        private Code(List<Step> steps, List<Step> constantSteps, List<Buffer> buffers, Map<Buffer, Literal> literals) {
            this.steps = steps;
            this.constantSteps = constantSteps;
            this.buffers = buffers;
            this.literals = literals;
        }
    }

    /** Where constants get memory from. */
    @FunctionalInterface
    public interface Allocator {
        Pointer allocate(long sizeBytes);
    }

    /** Writes a literal to memory. */
    @FunctionalInterface
    public interface Writer {
        void write(Literal literal, Pointer pointer);
    }

    /**
     * A compiled program on memory.
     *
     * @param steps one by one, with a name each
     * @param joined the same, some of them done together
     */
    public record Bound(
            List<Runnable> steps,
            List<Shared.Joined> joined,
            List<String> names,
            List<Place> inputs,
            List<Place> outputs,
            Binder binder) {}

    /**
     * Emits a program.
     *
     * @param donations by output leaf the input leaf that it may overwrite, or -1
     */
    public static Compiled compile(FlatProgram program, Emitter emitter, int[] donations) {
        List<ArrayShape> inputs = new ArrayList<>();
        List<View> arguments = new ArrayList<>();
        for (List<Node.Ref> leaves : program.parameters()) {
            for (Node.Ref leaf : leaves) {
                arguments.add(emitter.input(leaf.shape(), inputs.size()));
                inputs.add(leaf.shape());
            }
        }
        List<View> results = new ArrayList<>(emitter.emit(program, arguments));
        List<Buffer> taken = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            View view = results.get(i);
            int donor = donations[i];
            boolean passes = donor >= 0 && view.equals(arguments.get(donor));
            boolean own = view.buffer().kind() == Buffer.Kind.POOL
                    && view.isDense()
                    && view.isContiguous()
                    && view.dtype() == view.buffer().dtype()
                    && !taken.contains(view.buffer());
            if (!passes && !own) {
                View copy = emitter.scratch(view.shape());
                emitter.copyAlways(view, copy);
                results.set(i, copy);
            }
            taken.add(results.get(i).buffer());
        }
        emitter.finishAll();
        List<Output> outputs = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            View view = results.get(i);
            int donor = donations[i];
            boolean merged = donor >= 0
                    && (view.buffer() == arguments.get(donor).buffer()
                            || MemoryPlan.coalesce(
                                    emitter.steps(),
                                    view.buffer(),
                                    arguments.get(donor).buffer()));
            if (!merged) {
                view.buffer().become(Buffer.Kind.OUTPUT, i);
            }
            outputs.add(new Output(view.shape(), merged ? donor : -1));
        }
        long poolBytes = MemoryPlan.place(emitter.steps(), emitter.buffers());
        Code code = new Code(emitter.steps(), emitter.constantSteps(), emitter.buffers(), emitter.literals());
        return new Compiled(
                List.copyOf(inputs),
                List.copyOf(outputs),
                poolBytes,
                List.copyOf(emitter.hostSteps()),
                count(emitter.steps()),
                code);
    }

    private static int count(List<Step> steps) {
        int count = 0;
        for (Step step : steps) {
            count++;
            for (Step.Block block : step.blocks()) {
                count += count(block.steps());
            }
        }
        return count;
    }

    /** Steps of one run, bodies of loops counted once. */
    public List<Step> steps() {
        List<Step> all = new ArrayList<>();
        collect(code.steps, all);
        return all;
    }

    private static void collect(List<Step> steps, List<Step> all) {
        for (Step step : steps) {
            all.add(step);
            step.blocks().forEach(block -> collect(block.steps(), all));
        }
    }

    /** What {@link #bind} asks of its allocator in all, each piece aligned. */
    public long constantBytes() {
        return code.buffers.stream()
                .filter(buffer -> buffer.kind() == Buffer.Kind.CONSTANT && buffer.root() == buffer)
                .mapToLong(buffer -> MemoryPlan.aligned(buffer))
                .sum();
    }

    /**
     * Puts the program on memory and runs what depends on constants alone.
     *
     * @param communicators null for a program that runs alone
     */
    public Bound bind(Pointer pool, Allocator allocator, Writer writer, @Nullable Communicators communicators) {
        Binder binder = new Binder(communicators);
        Place[] inputSlots = new Place[inputs.size()];
        Place[] outputSlots = new Place[outputs.size()];
        for (Buffer buffer : code.buffers) {
            if (buffer.root() != buffer) {
                continue;
            }
            switch (buffer.kind()) {
                case POOL -> {
                    if (buffer.lastUse() >= 0) {
                        binder.place(buffer, at(pool, buffer.offsetBytes()));
                    }
                }
                case INPUT -> {
                    binder.place(buffer, pool);
                    inputSlots[buffer.slot()] = binder.placeOf(buffer);
                }
                case OUTPUT -> {
                    binder.place(buffer, pool);
                    outputSlots[buffer.slot()] = binder.placeOf(buffer);
                }
                case CONSTANT -> {
                    Pointer pointer = allocator.allocate(buffer.sizeBytes());
                    Literal literal = code.literals.get(buffer);
                    if (literal != null) {
                        writer.write(literal, pointer);
                    }
                    binder.place(buffer, pointer);
                }
            }
        }
        for (Step step : code.constantSteps) {
            binder.bind(step).run();
        }
        Runnable[] bound = new Runnable[code.steps.size()];
        String[] names = new String[bound.length];
        for (int i = 0; i < bound.length; i++) {
            bound[i] = binder.bind(code.steps.get(i));
            names[i] = code.steps.get(i).name();
        }
        return new Bound(
                List.of(bound),
                List.copyOf(Shared.join(code.steps, List.of(bound))),
                List.of(names),
                Arrays.asList(inputSlots),
                Arrays.asList(outputSlots),
                binder);
    }

    private static Pointer at(Pointer pool, long offsetBytes) {
        return new org.bytedeco.javacpp.BytePointer(pool).getPointer(offsetBytes);
    }
}

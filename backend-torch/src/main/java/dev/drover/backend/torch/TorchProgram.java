package dev.drover.backend.torch;

import dev.drover.backend.torch.emit.Compiled;
import dev.drover.backend.torch.emit.Place;
import dev.drover.backend.torch.emit.Shared;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.comm.Communicators;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.AutoDispatchBelowADInplaceOrView;
import org.bytedeco.pytorch.Device;
import org.jspecify.annotations.Nullable;

/**
 * A computation compiled for libtorch on the CPU. Memory is planned ahead: temporaries lie in one pool, a run allocates its outputs
 * only, and steps are bound to tensors once. One run at a time.
 */
public final class TorchProgram implements AutoCloseable {
    private final TorchMemory memory;
    private final Compiled compiled;
    private final int[] donorByOutput;
    private final boolean[] donated;
    private final List<TorchMemory.Block> blocks = new ArrayList<>();
    private final Compiled.Bound bound;
    private final Runnable[] code;
    private final Runnable[] joinedCode;
    private final Device cpu = new Device("cpu");
    private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    private long[] stepNanos = {};
    private boolean closed;

    private TorchProgram(
            TorchMemory memory,
            TorchLayout layout,
            @Nullable Pointer pool,
            Compiled.@Nullable Allocator constants,
            @Nullable Communicators communicators) {
        this.memory = memory;
        this.compiled = layout.compiled();
        this.donorByOutput = layout.donorByOutput();
        this.donated = new boolean[compiled.inputs().size()];
        for (int donor : donorByOutput) {
            if (donor >= 0) {
                donated[donor] = true;
            }
        }
        try (AutoDispatchBelowADInplaceOrView guard = new AutoDispatchBelowADInplaceOrView()) {
            this.bound = compiled.bind(
                    pool == null ? allocate(compiled.poolBytes()) : pool,
                    constants == null ? this::allocate : constants,
                    HostCopy::write,
                    communicators);
        }
        this.code = bound.steps().toArray(Runnable[]::new);
        this.joinedCode = bound.joined().stream().map(Shared.Joined::step).toArray(Runnable[]::new);
    }

    private BytePointer allocate(long sizeBytes) {
        TorchMemory.Block block = memory.allocate(sizeBytes);
        blocks.add(block);
        return new BytePointer(block.pointer);
    }

    /**
     * Compiles a computation whose parameters and root may be tuples; inputs and outputs are their array leaves, depth-first.
     * Fails with {@link dev.drover.ir.UserError}, naming all of them, if ops have no meaning here.
     */
    public static TorchProgram compile(Computation computation, TorchOptions options) {
        TorchLayout layout = TorchLayout.of(computation, options.donations(), options.context(), options.fuse());
        LibTorch.load();
        return new TorchProgram(options.memory(), layout, null, null, options.communicators());
    }

    /**
     * Puts a program on memory that its user lays out.
     *
     * @param poolOffsetBytes of the pool, to be left alone while it runs
     * @param constantsOffsetBytes of the constants, to be left alone while it is open
     * @param communicators null for a program that runs alone
     */
    public static TorchProgram bind(
            TorchLayout layout,
            TorchArena arena,
            long poolOffsetBytes,
            long constantsOffsetBytes,
            @Nullable Communicators communicators) {
        long[] used = {0};
        Compiled.Allocator constants = sizeBytes -> {
            Pointer pointer = arena.at(constantsOffsetBytes + used[0], sizeBytes);
            used[0] += TorchMemory.aligned(sizeBytes);
            return pointer;
        };
        Pointer pool = arena.at(poolOffsetBytes, layout.poolBytes());
        return new TorchProgram(arena.memory(), layout, pool, constants, communicators);
    }

    /** Shapes of the inputs. */
    public List<ArrayShape> inputs() {
        return compiled.inputs();
    }

    /** Shapes of the outputs. */
    public List<ArrayShape> outputs() {
        return compiled.outputs().stream().map(Compiled.Output::shape).toList();
    }

    /** Size of the pool of temporaries. */
    public long poolBytes() {
        return compiled.poolBytes();
    }

    /** Bytes that the program holds while it is open: pool and constants. */
    public long residentBytes() {
        return blocks.stream().mapToLong(block -> block.sizeBytes).sum();
    }

    /** Names of instructions that run on the host by the reference evaluator, which is slow. */
    public List<String> hostSteps() {
        return compiled.hostSteps();
    }

    /** Outputs that take over the memory of a donated input. */
    public long donationsKept() {
        return compiled.outputs().stream().filter(o -> o.fromInput() >= 0).count();
    }

    /** From now on the processor time of each step is taken (of the calling thread). */
    public synchronized void profile() {
        stepNanos = new long[code.length];
    }

    /** Nanoseconds that each instruction's steps took since {@link #profile}, by name, in order. */
    public synchronized Map<String, Long> nanosByInstruction() {
        Map<String, Long> out = new LinkedHashMap<>();
        for (int i = 0; i < stepNanos.length; i++) {
            out.merge(bound.names().get(i), stepNanos[i], Long::sum);
        }
        return out;
    }

    /** Kernel calls of one run (bodies of loops counted once). */
    public int stepCount() {
        return compiled.stepCount();
    }

    /**
     * Runs once. Inputs are only read, but donated ones are closed. The caller owns the outputs.
     */
    public synchronized List<TorchTensor> run(List<TorchTensor> inputs) {
        if (closed) {
            throw new IllegalStateException("The program must be open.");
        }
        check(inputs);
        for (int i = 0; i < inputs.size(); i++) {
            move(bound.inputs().get(i), inputs.get(i).block());
        }
        TorchMemory.Block[] outputs = new TorchMemory.Block[compiled.outputs().size()];
        for (int i = 0; i < outputs.length; i++) {
            Compiled.Output output = compiled.outputs().get(i);
            if (output.fromInput() < 0) {
                outputs[i] = memory.allocate(TorchTensor.sizeBytes(output.shape()));
                move(bound.outputs().get(i), outputs[i]);
            }
        }
        execute();
        List<TorchTensor> results = new ArrayList<>(outputs.length);
        for (int i = 0; i < outputs.length; i++) {
            Compiled.Output output = compiled.outputs().get(i);
            TorchMemory.Block block = output.fromInput() < 0
                    ? outputs[i]
                    : inputs.get(output.fromInput()).release();
            results.add(new TorchTensor(memory, output.shape(), block));
        }
        for (int donor : donorByOutput) {
            if (donor >= 0) {
                inputs.get(donor).close();
            }
        }
        return results;
    }

    /**
     * A run on tensors that stay open, as often as wanted. Inputs are only read; outputs are written, each in its memory: that of the input
     * whose memory the output takes over where the layout says so.
     */
    public Runnable on(List<TorchTensor> inputs, List<TorchTensor> outputs) {
        check(inputs);
        List<Place> places = new ArrayList<>();
        List<TorchMemory.Block> blocks = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            places.add(bound.inputs().get(i));
            blocks.add(inputs.get(i).block());
        }
        for (int i = 0; i < outputs.size(); i++) {
            int donor = compiled.outputs().get(i).fromInput();
            if (donor < 0) {
                places.add(bound.outputs().get(i));
                blocks.add(outputs.get(i).block());
            } else if (outputs.get(i).address() != inputs.get(donor).address()) {
                throw new IllegalArgumentException(
                        "The output (" + i + ") must lie in the place of the input (" + donor + ").");
            }
        }
        Place[] moved = places.toArray(Place[]::new);
        TorchMemory.Block[] targets = blocks.toArray(TorchMemory.Block[]::new);
        return () -> run(moved, targets);
    }

    private synchronized void run(Place[] places, TorchMemory.Block[] targets) {
        if (closed) {
            throw new IllegalStateException("The program must be open.");
        }
        for (int i = 0; i < places.length; i++) {
            move(places[i], targets[i]);
        }
        execute();
    }

    /** Runs once on copies of literals and copies the outputs back. */
    public List<Literal> runLiterals(List<Literal> literals) {
        List<TorchTensor> inputs = new ArrayList<>();
        List<TorchTensor> outputs = List.of();
        try {
            literals.forEach(literal -> inputs.add(TorchTensor.of(memory, literal)));
            outputs = run(inputs);
            return outputs.stream().map(TorchTensor::toLiteral).toList();
        } finally {
            inputs.forEach(TorchTensor::close);
            outputs.forEach(TorchTensor::close);
        }
    }

    private void check(List<TorchTensor> inputs) {
        List<ArrayShape> shapes = inputs.stream().map(TorchTensor::shape).toList();
        if (!shapes.equals(compiled.inputs())) {
            throw new IllegalArgumentException(
                    "The shapes (" + shapes + ") of the inputs must be the program's (" + compiled.inputs() + ").");
        }
        for (int i = 0; i < inputs.size(); i++) {
            for (int j = 0; donated[i] && j < inputs.size(); j++) {
                if (i != j && inputs.get(i).address() == inputs.get(j).address()) {
                    throw new IllegalArgumentException("The donated input (" + i + ") must occur once.");
                }
            }
        }
    }

    private void move(Place place, TorchMemory.Block block) {
        place.move(block.pointer, block.address, cpu);
    }

    private void execute() {
        long[] nanos = stepNanos;
        boolean profiled = nanos.length > 0;
        Runnable[] steps = profiled ? code : joinedCode;
        int at = 0;
        try (AutoDispatchBelowADInplaceOrView guard = new AutoDispatchBelowADInplaceOrView()) {
            if (profiled) {
                for (; at < steps.length; at++) {
                    long start = clock.getCurrentThreadCpuTime();
                    steps[at].run();
                    nanos[at] += clock.getCurrentThreadCpuTime() - start;
                }
            } else {
                for (; at < steps.length; at++) {
                    steps[at].run();
                }
            }
        } catch (RuntimeException e) {
            String name =
                    profiled ? bound.names().get(at) : bound.joined().get(at).name();
            throw new IllegalStateException("The instruction (" + name + ") must run: " + firstLine(e) + ".", e);
        }
    }

    private static String firstLine(RuntimeException e) {
        String message = String.valueOf(e.getMessage());
        int end = message.indexOf('\n');
        return end < 0 ? message : message.substring(0, end);
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        bound.binder().close();
        cpu.close();
        blocks.forEach(memory::free);
        blocks.clear();
    }
}

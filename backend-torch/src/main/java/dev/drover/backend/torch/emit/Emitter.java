package dev.drover.backend.torch.emit;

import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.Lookahead;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Turns nodes into steps. Kernels call it: they ask for the views of a node's inputs, make views of results or define results as
 * views of what is there, and append steps. A step that reads only constants is run once, when the program is bound.
 */
public final class Emitter {
    /** Results of steps on constants are kept up to this size; larger ones are made in each run. */
    private static final long LARGEST_CONSTANT_BYTES = 16L << 20;

    private final Function<Node, Kernel> kernels;
    private final UnaryOperator<FlatProgram> rewrites;
    private final List<Step> constantSteps = new ArrayList<>();
    private final Map<Buffer, Literal> literals = new LinkedHashMap<>();
    private final Map<Ref, View> views = new HashMap<>();
    private final Map<Ref, List<Node>> users = new HashMap<>();
    private final List<Buffer> buffers = new ArrayList<>();
    private final List<String> hostSteps = new ArrayList<>();
    private final DeviceContext context;
    private final List<UnderWay> underWay = new ArrayList<>();
    private List<Step> steps = new ArrayList<>();
    private int position;
    private String current = "";

    /** What a kernel does with a node. */
    @FunctionalInterface
    public interface Kernel {
        void emit(Emitter emitter, Node node);
    }

    public Emitter(Function<Node, Kernel> kernels, UnaryOperator<FlatProgram> rewrites, DeviceContext context) {
        this.kernels = kernels;
        this.rewrites = rewrites;
        this.context = context;
    }

    /** Which device the program runs as, and its way to the others. */
    public DeviceContext context() {
        return context;
    }

    /** The view of a value. */
    public View view(Ref ref) {
        View view = views.get(ref);
        if (view == null) {
            throw new IllegalStateException("The value (" + ref + ") must be emitted before its use.");
        }
        return view;
    }

    public View input(Node node, int index) {
        return view(node.input(index));
    }

    /** Says that a result is this view, without a step. */
    public void define(Ref ref, View view) {
        views.put(ref, view);
    }

    /** A new row-major buffer for a result. */
    public View result(Node node, int leaf) {
        View made = scratch(node.results().get(leaf));
        views.put(node.ref(leaf), made);
        return made;
    }

    public View result(Node node) {
        return result(node, 0);
    }

    /** The nodes that read a value, in order. */
    public List<Node> users(Ref ref) {
        return users.getOrDefault(ref, List.of());
    }

    /** A new buffer for a result whose dims lie in this order, the slowest first. */
    public View resultIn(Node node, int... order) {
        ArrayShape shape = node.shape();
        long[] strides = new long[shape.rank()];
        long stride = 1;
        for (int i = order.length - 1; i >= 0; i--) {
            strides[order[i]] = stride;
            stride *= shape.dim(order[i]);
        }
        Buffer buffer = newBuffer(shape.dtype(), shape.elements(), Buffer.Kind.POOL);
        View made = new View(buffer, shape.dtype(), shape.dims(), strides, 0);
        views.put(node.ref(), made);
        return made;
    }

    /** A new buffer for a result with dims laid out as in another view, where that has no gaps. */
    public View resultLike(Node node, View like) {
        return resultLike(node, 0, like);
    }

    public View resultLike(Node node, int leaf, View like) {
        View made = scratchLike(node.results().get(leaf).dtype(), like);
        views.put(node.ref(leaf), made);
        return made;
    }

    /** A new row-major buffer. */
    public View scratch(ArrayShape shape) {
        return View.whole(newBuffer(shape.dtype(), shape.elements(), Buffer.Kind.POOL), shape);
    }

    public View scratch(DType dtype, long... dims) {
        return scratch(ArrayShape.of(dtype, dims));
    }

    private View scratchLike(DType dtype, View like) {
        int[] order = like.packed();
        if (order == null || like.isContiguous()) {
            return scratch(dtype, like.sizes());
        }
        long[] strides = new long[like.rank()];
        long stride = 1;
        for (int i = order.length - 1; i >= 0; i--) {
            strides[order[i]] = stride;
            stride *= like.size(order[i]);
        }
        return new View(newBuffer(dtype, like.elements(), Buffer.Kind.POOL), dtype, like.sizes(), strides, 0);
    }

    private Buffer newBuffer(DType dtype, long elements, Buffer.Kind kind) {
        Buffer buffer = new Buffer(dtype, elements, kind);
        buffers.add(buffer);
        return buffer;
    }

    /** A literal that is there when the program is bound. */
    public View constant(Literal literal) {
        Buffer buffer = newBuffer(literal.dtype(), literal.size(), Buffer.Kind.CONSTANT);
        literals.put(buffer, literal);
        return View.whole(buffer, literal.shape());
    }

    /** The literal of a view that is all of one, else null. */
    public @org.jspecify.annotations.Nullable Literal literal(View view) {
        Literal literal = literals.get(view.buffer());
        return literal != null && view.isDense() && view.isContiguous() && view.dtype() == literal.dtype()
                ? literal
                : null;
    }

    /** The same elements row-major, copied if they are not. */
    public View contiguous(View view) {
        if (view.isContiguous()) {
            return view;
        }
        View copy = scratch(view.shape());
        copy(view, copy);
        return copy;
    }

    /** Appends a copy between views of the same sizes; the elements are converted as libtorch does it. */
    public void copy(View from, View to) {
        step(List.of(from), List.of(to), binder -> {
            if (binder.same(from, to)) {
                return () -> {};
            }
            return Pieces.copy(binder, from, to);
        });
    }

    /** Appends a copy that is never done ahead, into memory that other steps write too. */
    public void copyAlways(View from, View to) {
        effect(List.of(from), List.of(to), List.of(new Step.Alias(to, from)), binder -> {
            if (binder.same(from, to)) {
                return () -> {};
            }
            return Pieces.copy(binder, from, to);
        });
    }

    /**
     * At the end of a block: the state takes new values. A value that lies in another part of the state is saved first; a value in a
     * buffer of its own is made in the state's memory from the start if nothing reads the old state after that.
     */
    public void replace(List<View> values, List<View> state) {
        List<View> safe = new ArrayList<>(values);
        for (int i = 0; i < values.size(); i++) {
            View value = values.get(i);
            boolean own = value.buffer() == state.get(i).buffer();
            boolean ofState = state.stream().anyMatch(s -> s.buffer() == value.buffer());
            boolean shared =
                    values.stream().filter(v -> v.buffer() == value.buffer()).count() > 1;
            boolean stays = value.equals(state.get(i));
            if (!stays && (own || ofState || shared)) {
                View saved = scratch(value.shape());
                copyAlways(value, saved);
                safe.set(i, saved);
            }
        }
        for (int i = 0; i < values.size(); i++) {
            View value = safe.get(i);
            View old = state.get(i);
            if (value.equals(old)) {
                continue;
            }
            if (value.isDense() && value.isContiguous()) {
                MemoryPlan.coalesce(steps, value.buffer(), old.buffer());
            }
            if (value.buffer().root() != old.buffer().root()) {
                copyAlways(value, old);
            }
        }
    }

    /** Reshapes, with a copy if need be. */
    public View reshape(View view, long... dims) {
        View made = view.reshape(dims);
        if (made != null) {
            return made;
        }
        View reshaped = contiguous(view).reshape(dims);
        if (reshaped == null) {
            throw new IllegalStateException("The view (" + view + ") must have as many elements as its new dims.");
        }
        return reshaped;
    }

    public void step(List<View> reads, List<View> writes, Step.Maker maker) {
        step(reads, writes, List.of(), maker);
    }

    /** Appends a step. A write of {@code aliases} may come to lie in the memory of its read. */
    public void step(List<View> reads, List<View> writes, List<Step.Alias> aliases, Step.Maker maker) {
        boolean constant = reads.stream().allMatch(v -> v.buffer().kind() == Buffer.Kind.CONSTANT)
                && writes.stream()
                        .allMatch(v -> v.buffer().kind() == Buffer.Kind.POOL
                                && v.buffer().lastUse() < 0
                                && v.buffer().sizeBytes() <= LARGEST_CONSTANT_BYTES);
        if (constant) {
            writes.forEach(v -> v.buffer().become(Buffer.Kind.CONSTANT, -1));
            constantSteps.add(new Step(current, -1, reads, writes, List.of(), List.of(), maker));
            return;
        }
        finishBefore(reads, writes);
        append(new Step(current, position++, reads, writes, aliases, List.of(), maker));
    }

    /** Appends a step that must run each time, even if it reads only constants. */
    public void effect(List<View> reads, List<View> writes, Step.Maker maker) {
        effect(reads, writes, List.of(), maker);
    }

    public void effect(List<View> reads, List<View> writes, List<Step.Alias> aliases, Step.Maker maker) {
        finishBefore(reads, writes);
        append(new Step(current, position++, reads, writes, aliases, List.of(), maker));
    }

    /**
     * Appends a step that starts a transfer, and one that waits for it: before the first step that touches what the transfer writes, when
     * {@link Lookahead#COLLECTIVES} younger ones are to be under way, or at the end of the block. All views are kept until then.
     *
     * @param aliases writes that may take the memory of a read from the start
     */
    public void exchange(List<View> reads, List<View> writes, List<Step.Alias> aliases, Step.Exchange maker) {
        while (underWay.size() >= Lookahead.COLLECTIVES) {
            finish(underWay.get(0));
        }
        List<View> kept = new ArrayList<>(reads);
        aliases.forEach(alias -> kept.remove(alias.read()));
        UnderWay started = new UnderWay(current, kept, writes);
        effect(reads, writes, aliases, binder -> {
            Supplier<Transfer> start = maker.bind(binder);
            Transfer[] transfer = binder.transfer(started);
            return () -> transfer[0] = start.get();
        });
        underWay.add(started);
    }

    /** A transfer that was started by a step. */
    private record UnderWay(String name, List<View> reads, List<View> writes) {
        boolean conflicts(List<View> otherReads, List<View> otherWrites) {
            return touches(writes, otherReads) || touches(writes, otherWrites) || touches(reads, otherWrites);
        }

        private static boolean touches(List<View> some, List<View> others) {
            return some.stream()
                    .anyMatch(v -> others.stream()
                            .anyMatch(o -> o.buffer().root() == v.buffer().root()));
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    private void finish(UnderWay transfer) {
        underWay.remove(transfer);
        append(new Step(transfer.name, position++, transfer.reads, transfer.writes, List.of(), List.of(), binder -> {
            Transfer[] started = binder.transfer(transfer);
            return () -> started[0].await();
        }));
    }

    /** Waits for all that is under way. */
    void finishAll() {
        while (!underWay.isEmpty()) {
            finish(underWay.get(0));
        }
    }

    private void finishBefore(List<View> reads, List<View> writes) {
        for (UnderWay transfer : List.copyOf(underWay)) {
            if (transfer.conflicts(reads, writes)) {
                finish(transfer);
            }
        }
    }

    /** Appends a step that runs blocks. What it reads is read by the blocks, and is kept until its end. */
    public void control(List<View> reads, List<View> writes, List<Step.Block> blocks, Step.Maker maker) {
        append(new Step(current, position++, reads, writes, List.of(), blocks, maker));
    }

    private void append(Step step) {
        for (View write : step.writes()) {
            if (write.buffer().kind() == Buffer.Kind.CONSTANT) {
                throw new IllegalStateException(
                        "The step of (" + step.name() + ") must write what no other step writes.");
            }
        }
        step.reads().forEach(v -> v.buffer().touch(step.position()));
        step.writes().forEach(v -> v.buffer().touch(step.position()));
        steps.add(step);
    }

    /** Notes an op that runs on the host by the reference evaluator, for reports. */
    public void noteHostStep() {
        hostSteps.add(current);
    }

    /** Collects the steps that {@code body} appends. */
    public Step.Block block(Runnable body) {
        finishAll();
        List<Step> outer = steps;
        steps = new ArrayList<>();
        try {
            body.run();
            finishAll();
            return new Step.Block(steps);
        } finally {
            steps = outer;
        }
    }

    /** Emits a called computation in place and gives the views of its outputs. */
    public List<View> inline(Computation computation, List<View> arguments) {
        FlatProgram program = rewrites.apply(FlatProgram.of(computation));
        return emit(program, arguments);
    }

    /** Emits a program whose parameter leaves are these views. */
    public List<View> emit(FlatProgram program, List<View> arguments) {
        int at = 0;
        for (List<Ref> leaves : program.parameters()) {
            for (Ref leaf : leaves) {
                views.put(leaf, arguments.get(at++));
            }
        }
        String outer = current;
        List<Node> order = program.order();
        for (Node node : order) {
            for (Ref input : node.inputs()) {
                users.computeIfAbsent(input, r -> new ArrayList<>(2)).add(node);
            }
        }
        for (Node node : order) {
            if (node.inputs().isEmpty() && views.containsKey(node.ref())) {
                continue;
            }
            if (node.op() instanceof dev.drover.ir.ops.Parameter) {
                continue;
            }
            current = node.name();
            kernels.apply(node).emit(this, node);
        }
        current = outer;
        return program.outputs().stream().map(this::view).toList();
    }

    /** A buffer of the caller's. */
    View input(ArrayShape shape, int slot) {
        Buffer buffer = newBuffer(shape.dtype(), shape.elements(), Buffer.Kind.INPUT);
        buffer.become(Buffer.Kind.INPUT, slot);
        return View.whole(buffer, shape);
    }

    List<Step> steps() {
        return steps;
    }

    List<Step> constantSteps() {
        return constantSteps;
    }

    List<Buffer> buffers() {
        return buffers;
    }

    Map<Buffer, Literal> literals() {
        return literals;
    }

    List<String> hostSteps() {
        return hostSteps;
    }
}

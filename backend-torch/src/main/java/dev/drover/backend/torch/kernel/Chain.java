package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Pieces;
import dev.drover.backend.torch.emit.Shared;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.Team;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A chain of elementwise f32 ops as one node: one pass over memory, see {@link BlockLoop}.
 *
 * @param opcodes by step what it does
 * @param left and right by step, its operands: an input's number, or {@code inputs + s} for the result of step s
 * @param outputs steps whose results are the node's
 * @param inputs number of inputs
 */
public record Chain(List<String> opcodes, List<Integer> left, List<Integer> right, List<Integer> outputs, int inputs)
        implements Kernels.Fused {
    private static final int BLOCK = 1024;
    private static final long SMALLEST_SHARED = 1 << 16;

    /** What a step of an opcode does, or null. */
    static BlockLoop.@Nullable Kind kind(String opcode) {
        return switch (opcode) {
            case "add" -> BlockLoop.Kind.ADD;
            case "subtract" -> BlockLoop.Kind.SUBTRACT;
            case "multiply" -> BlockLoop.Kind.MULTIPLY;
            case "divide" -> BlockLoop.Kind.DIVIDE;
            case "maximum" -> BlockLoop.Kind.MAXIMUM;
            case "minimum" -> BlockLoop.Kind.MINIMUM;
            case "sqrt" -> BlockLoop.Kind.SQRT;
            case "negate" -> BlockLoop.Kind.NEGATE;
            case "abs" -> BlockLoop.Kind.ABS;
            case RowKernels.GELU -> BlockLoop.Kind.GELU;
            case RowKernels.GELU_GRADIENT -> BlockLoop.Kind.GELU_GRADIENT;
            default -> null;
        };
    }

    /** Whether an op can be a step of a chain. */
    public static boolean takes(String opcode) {
        return kind(opcode) != null;
    }

    /** Whether an op is better off as a chain of its own than as a call of libtorch. */
    public static boolean takesAlone(String opcode) {
        return opcode.equals(RowKernels.GELU) || opcode.equals(RowKernels.GELU_GRADIENT);
    }

    /** Additions and the like that it computes for each element; what GELU does beside its division takes as long as some of them. */
    public long simpleOps() {
        long simple = 0;
        for (String opcode : opcodes) {
            simple += isDivision(opcode)
                    ? 0
                    : opcode.equals(RowKernels.GELU) ? 8 : opcode.equals(RowKernels.GELU_GRADIENT) ? 10 : 1;
        }
        return simple;
    }

    /** Divisions and square roots that it computes for each element. */
    public long divisions() {
        return opcodes.stream()
                .filter(opcode -> isDivision(opcode) || takesAlone(opcode))
                .count();
    }

    private static boolean isDivision(String opcode) {
        return opcode.equals("divide") || opcode.equals("sqrt");
    }

    @Override
    public String opcode() {
        return "drover-chain";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        throw new IllegalStateException("A chain must be made by a rewrite.");
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        throw new IllegalStateException("A chain must run on libtorch's memory.");
    }

    @Override
    public Emitter.Kernel kernel() {
        return this::emit;
    }

    private void emit(Emitter emitter, Node node) {
        List<View> given = new ArrayList<>();
        long[] sizes = node.shape().dims();
        for (int i = 0; i < node.inputs().size(); i++) {
            View view = emitter.input(node, i);
            given.add(view.rank() == 0 ? view.broadcast(sizes) : view);
        }
        View like = Elementwise.layout(given, sizes);
        int[] order = like.packed();
        if (order == null) {
            throw new IllegalStateException("The layout of (" + node.name() + ") must have no gaps.");
        }
        List<View> inputs = new ArrayList<>();
        List<BlockLoop.Along> along = new ArrayList<>();
        long width = 0;
        for (View view : given) {
            View ordered = view.permute(order);
            Rows rows = Rows.of(ordered, width);
            if (rows == null) {
                ordered = emitter.contiguous(ordered);
                rows = new Rows(BlockLoop.Along.ELEMENTS, 0, ordered);
            }
            width = rows.width() == 0 ? width : rows.width();
            inputs.add(rows.line());
            along.add(rows.along());
        }
        List<View> results = new ArrayList<>();
        List<View> lines = new ArrayList<>();
        List<Step.Alias> aliases = new ArrayList<>();
        for (int i = 0; i < outputs.size(); i++) {
            View result = emitter.resultLike(node, i, like);
            results.add(result);
            lines.add(need(result.permute(order).reshape(result.elements())));
            for (View view : given) {
                if (!view.repeats()) {
                    aliases.add(new Step.Alias(result, view));
                }
            }
        }
        long row = width;
        List<View> reads = new ArrayList<>(given);
        for (int i = 0; i < given.size(); i++) {
            if (inputs.get(i).buffer() != given.get(i).buffer()) {
                reads.set(i, inputs.get(i));
            }
        }
        emitter.step(
                reads,
                results,
                aliases,
                binder -> bind(binder, inputs, along, lines, node.shape().elements(), row));
    }

    private static View need(@Nullable View view) {
        if (view == null) {
            throw new IllegalStateException("The view must have no gaps.");
        }
        return view;
    }

    /** An operand as a line of elements that repeats in some way. */
    private record Rows(BlockLoop.Along along, long width, View line) {
        /** How a view runs, if it fits rows of this width (0: of any). */
        static @Nullable Rows of(View view, long width) {
            long elements = view.elements();
            View line = view.reshape(elements);
            if (line != null && (line.stride(0) == 1 || elements == 1)) {
                return new Rows(BlockLoop.Along.ELEMENTS, 0, line);
            }
            if (line != null && line.stride(0) == 0) {
                return new Rows(BlockLoop.Along.ONCE, 0, line.narrow(0, 0, 1));
            }
            for (int cut = 1; cut < view.rank(); cut++) {
                long inner = 1;
                for (int d = cut; d < view.rank(); d++) {
                    inner *= view.size(d);
                }
                View matrix = inner == 0 ? null : view.reshape(elements / inner, inner);
                if (matrix == null || inner > BLOCK * 4 || (width != 0 && width != inner)) {
                    continue;
                }
                if (matrix.stride(0) == 0 && matrix.stride(1) == 1) {
                    return new Rows(BlockLoop.Along.ROWS, inner, matrix.select(0));
                }
                if (matrix.stride(0) == 1 && matrix.stride(1) == 0) {
                    return new Rows(
                            BlockLoop.Along.COLUMNS, inner, matrix.permute(1, 0).select(0));
                }
            }
            return null;
        }
    }

    private Runnable bind(
            Binder binder,
            List<View> inputs,
            List<BlockLoop.Along> along,
            List<View> lines,
            long elements,
            long width) {
        Team team = binder.team();
        int members = elements < SMALLEST_SHARED ? 1 : team.size();
        int row = (int) Math.max(1, width);
        int block = width == 0 ? BLOCK : row * Math.max(1, BLOCK / row);
        long blocks = (elements + block - 1) / block;
        int pieces = members == 1 ? 1 : Pieces.count(team, blocks);
        BlockLoop[] loops = new BlockLoop[members];
        for (int i = 0; i < members; i++) {
            loops[i] = program(along, row, block);
        }
        List<Stretch> stretches = new ArrayList<>();
        for (Stretch.Range range : Stretch.ranges(blocks, block)) {
            stretches.add(new Stretch(
                    range,
                    inputs.stream().map(binder::tensor).toArray(Tensor[]::new),
                    along,
                    lines.stream().map(binder::tensor).toArray(Tensor[]::new),
                    elements,
                    row,
                    block));
        }
        Runnable locate = () -> stretches.forEach(Stretch::locate);
        Team.Work work = (member, piece) -> {
            long from = blocks * piece / pieces;
            long to = blocks * (piece + 1) / pieces;
            for (int i = 0; i < stretches.size(); i++) {
                stretches.get(i).run(loops[member], from, to);
            }
        };
        if (members == 1) {
            return () -> {
                locate.run();
                work.run(0, 0);
            };
        }
        return new Shared(team, locate, pieces, work);
    }

    private static BlockLoop.Kind needKind(String opcode) {
        BlockLoop.Kind kind = kind(opcode);
        if (kind == null) {
            throw new IllegalStateException("The op (" + opcode + ") must be one that a chain takes.");
        }
        return kind;
    }

    /** Assigns registers: inputs keep theirs, since those that do not run along elements are loaded once. */
    private BlockLoop program(List<BlockLoop.Along> along, int width, int block) {
        int steps = opcodes.size();
        int[] last = new int[inputs + steps];
        for (int s = 0; s < steps; s++) {
            last[left.get(s)] = s;
            last[right.get(s)] = s;
        }
        outputs.forEach(s -> last[inputs + s] = steps);
        int[] register = new int[inputs + steps];
        Arrays.setAll(register, i -> i);
        List<Integer> free = new ArrayList<>();
        int count = inputs;
        List<BlockLoop.Op> ops = new ArrayList<>();
        for (int s = 0; s < steps; s++) {
            int x = left.get(s);
            int y = right.get(s);
            for (int operand : x == y ? new int[] {x} : new int[] {x, y}) {
                boolean reloaded = operand >= inputs || along.get(operand) == BlockLoop.Along.ELEMENTS;
                if (reloaded && last[operand] == s) {
                    free.add(register[operand]);
                }
            }
            int target = free.isEmpty() ? count++ : free.remove(free.size() - 1);
            register[inputs + s] = target;
            ops.add(new BlockLoop.Op(needKind(opcodes.get(s)), target, register[x], register[y]));
        }
        List<BlockLoop.Input> loaded = new ArrayList<>();
        for (int i = 0; i < inputs; i++) {
            loaded.add(new BlockLoop.Input(along.get(i), register[i]));
        }
        List<Integer> written = outputs.stream().map(s -> register[inputs + s]).toList();
        return new BlockLoop(loaded, ops, written, count, width, block);
    }
}

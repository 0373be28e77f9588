package dev.drover.cli;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Call;
import dev.drover.ir.ops.Conditional;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.Reduce;
import dev.drover.ir.ops.ReduceWindow;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.UnaryKind;
import dev.drover.ir.ops.While;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A training step whose every rounded result is moved by chance, by some units of its last place (Monte Carlo arithmetic). It is a step
 * like any other, so that whatever runs steps runs it.
 *
 * <pre>
 *   x = dot(a, b)     ->   h = fraction(sin(a i + b) c)          i: number of the element
 *                          x (1 + places (2 h - 1))              whole numbers stay, since they are often counts
 * </pre>
 */
final class RoundingNoise {
    private static final Set<String> ROUNDED = Set.of(
            "add",
            "atan2",
            "batch-norm-grad",
            "batch-norm-inference",
            "batch-norm-training",
            "cbrt",
            "cholesky",
            "convolution",
            "cosine",
            "divide",
            "dot",
            "erf",
            "exponential",
            "exponential-minus-one",
            "log",
            "log-plus-one",
            "logistic",
            "multiply",
            "power",
            "rsqrt",
            "select-and-scatter",
            "sine",
            "sqrt",
            "subtract",
            "tan",
            "tanh",
            "triangular-solve");

    /** Units of the last place of f32 and f64; narrower types are rounded after arithmetic in f32, once. */
    private static final double PLACES = 2;

    private final SplittableRandom random;

    private RoundingNoise(long seed) {
        this.random = new SplittableRandom(seed);
    }

    /** The same step with noise; other noise for another seed. */
    static TrainingStep in(TrainingStep step, long seed) {
        Graph graph = step.graph();
        Computation entry = new RoundingNoise(seed).in(graph.entry());
        return new TrainingStep(
                new Graph(graph.name(), entry, graph.aliases(), graph.attributes()), step.inputs(), step.outputs());
    }

    private Computation in(Computation computation) {
        OpBuilder ops = new OpBuilder(new ComputationBuilder(computation.name()));
        @Nullable Instruction[] made = new @Nullable Instruction[computation.size()];
        for (Instruction instruction : computation.instructions()) {
            List<Instruction> operands = new ArrayList<>();
            for (Instruction operand : instruction.operands()) {
                operands.add(made(made, operand));
            }
            Op op = instruction.op();
            if (op instanceof While || op instanceof Conditional || op instanceof Call) {
                op = op.withCalls(op.calls().stream().map(this::in).toList());
            }
            Instruction copy = ops.builder().add(op, operands, instruction.name(), instruction.annotations());
            made[instruction.id()] = isRounded(instruction) ? moved(ops, copy) : copy;
        }
        return ops.builder().build(made(made, computation.root()));
    }

    private static Instruction made(@Nullable Instruction[] made, Instruction instruction) {
        Instruction copy = made[instruction.id()];
        if (copy == null) {
            throw new IllegalStateException(
                    "The instruction (" + instruction.name() + ") must be made before its use.");
        }
        return copy;
    }

    private static boolean isRounded(Instruction instruction) {
        if (!(instruction.shape() instanceof ArrayShape shape) || !shape.dtype().isFloat()) {
            return false;
        }
        if (instruction.op() instanceof Reduce reduce) {
            return isRounded(reduce.reduction());
        }
        if (instruction.op() instanceof ReduceWindow reduce) {
            return isRounded(reduce.reduction());
        }
        return ROUNDED.contains(instruction.op().opcode());
    }

    private static boolean isRounded(@Nullable Reduction reduction) {
        return reduction == Reduction.SUM || reduction == Reduction.PROD;
    }

    private Instruction moved(OpBuilder ops, Instruction value) {
        ArrayShape shape = value.array();
        DType dtype = shape.dtype();
        DType wide = dtype == DType.F64 ? DType.F64 : DType.F32;
        double most = dtype == wide ? PLACES * ModelInputs.lastPlace(dtype) : ModelInputs.lastPlace(dtype);
        long[] dims = shape.dims();
        Instruction number = ops.reshape(ops.iota(ArrayShape.of(wide, shape.elements()), 0), dims);
        Instruction wave = ops.sin(ops.add(ops.mul(number, 12 + random.nextDouble()), 6.28 * random.nextDouble()));
        Instruction hash = ops.mul(wave, 43758 + random.nextDouble());
        Instruction fraction = ops.sub(hash, ops.floor(hash));
        Instruction noise = ops.sub(ops.mul(fraction, 2 * most), most);
        Instruction x = ops.convert(value, wide);
        Instruction whole = ops.equal(x, ops.unary(UnaryKind.ROUND_NEAREST_EVEN, x));
        Instruction near = ops.select(whole, x, ops.add(x, ops.mul(x, noise)));
        return ops.convert(near, dtype);
    }
}

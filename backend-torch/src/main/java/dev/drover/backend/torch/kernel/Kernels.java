package dev.drover.backend.torch.kernel;

import static dev.drover.backend.torch.kernel.Arithmetic.byType;
import static dev.drover.backend.torch.kernel.Arithmetic.hostFor;
import static dev.drover.backend.torch.kernel.Elementwise.binary;
import static dev.drover.backend.torch.kernel.Elementwise.scoped;
import static dev.drover.backend.torch.kernel.Elementwise.unary;
import static java.util.Map.entry;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Emitter.Kernel;
import dev.drover.backend.torch.emit.Node;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.CustomCall;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.pytorch.global.torch;

/** The kernel table: by opcode, how a node becomes steps. */
public final class Kernels {
    private static final Kernel HOST = HostKernel.KERNEL;
    private static final Kernel REFUSED = (emitter, node) -> {
        throw new UserError(unsupported(List.of(node.op().opcode())));
    };
    private static final DType[] NOT_NATIVE = {DType.U64};

    private static final Map<String, Kernel> TABLE = Map.ofEntries(
            entry("abs", hostFor(byType(Arithmetic::abs, unary(torch::abs_out), HOST), NOT_NATIVE)),
            entry("add", byType(binary(torch::add_out), binary(torch::add_out), binary(torch::logical_or_out))),
            entry("all-gather", Collective::allGather),
            entry("all-gather-done", Collective::done),
            entry("all-gather-start", Collective::allGather),
            entry("all-reduce", Collective::allReduce),
            entry("all-reduce-done", Collective::done),
            entry("all-reduce-start", Collective::allReduce),
            entry("all-to-all", Exchanges::allToAll),
            entry("and", binary(torch::bitwise_and_out)),
            entry("atan2", binary(torch::atan2_out)),
            entry("batch-norm-grad", HOST),
            entry("batch-norm-inference", HOST),
            entry("batch-norm-training", HOST),
            entry("bitcast", Movement::bitcast),
            entry("bitcast-convert", Conversions::bitcast),
            entry("broadcast", Movement::broadcast),
            entry("cbrt", scoped(Arithmetic::cubeRoot)),
            entry("ceil", unary(torch::ceil_out)),
            entry("cholesky", HOST),
            entry("clamp", hostFor(byType(Arithmetic::clamp, Arithmetic::clamp, HOST), NOT_NATIVE)),
            entry("collective-broadcast", Exchanges::broadcast),
            entry("collective-permute", Exchanges::permute),
            entry("collective-permute-done", Collective::done),
            entry("collective-permute-start", Exchanges::permute),
            entry("compare", Comparisons::emit),
            entry("complex", binary(torch::complex_out)),
            entry("concatenate", Movement::concatenate),
            entry("conditional", Control::conditional),
            entry("constant", Movement::constant),
            entry("convert", Conversions::convert),
            entry("convolution", Convolve::emit),
            entry("cosine", unary(torch::cos_out)),
            entry("count-leading-zeros", HOST),
            entry("custom-call", Kernels::customCall),
            entry("divide", byType(binary(torch::div_out), hostFor(Arithmetic::divideIntegers, NOT_NATIVE), HOST)),
            entry("dot", Contraction::emit),
            entry("dynamic-slice", Movement::dynamicSlice),
            entry("dynamic-update-slice", Movement::dynamicUpdateSlice),
            entry("erf", unary(torch::erf_out)),
            entry("exponential", unary(torch::exp_out)),
            entry("exponential-minus-one", unary(torch::expm1_out)),
            entry("fft", Fourier::emit),
            entry("floor", unary(torch::floor_out)),
            entry("gather", Indexed::gather),
            entry("imag", scoped(Fourier::imag)),
            entry("iota", Movement::iota),
            entry("is-finite", scoped((out, in) -> out.copy_(torch.isfinite(in[0])))),
            entry("log", unary(torch::log_out)),
            entry("log-plus-one", unary(torch::log1p_out)),
            entry("logistic", unary(torch::sigmoid_out)),
            entry("map", Kernels::map),
            entry("maximum", hostFor(binary(torch::maximum_out), NOT_NATIVE)),
            entry("minimum", hostFor(binary(torch::minimum_out), NOT_NATIVE)),
            entry("multiply", byType(binary(torch::mul_out), binary(torch::mul_out), binary(torch::logical_and_out))),
            entry("negate", unary(torch::neg_out)),
            entry("not", byType(HOST, unary(torch::bitwise_not_out), unary(torch::logical_not_out))),
            entry("or", binary(torch::bitwise_or_out)),
            entry("pad", Movement::pad),
            entry("partition-id", Collective::partitionId),
            entry("popcnt", HOST),
            entry("power", byType(binary(torch::pow_out), HOST, HOST)),
            entry("real", scoped(Fourier::real)),
            entry("reduce", Reductions::emit),
            entry("reduce-precision", HOST),
            entry("reduce-scatter", Collective::reduceScatter),
            entry("reduce-window", Windows::reduceWindow),
            entry(
                    "remainder",
                    byType(binary(torch::fmod_out), hostFor(Arithmetic::remainderIntegers, NOT_NATIVE), HOST)),
            entry("replica-id", Collective::replicaId),
            entry("reshape", Movement::reshape),
            entry("reverse", Movement::reverse),
            entry("rng", REFUSED),
            entry("rng-bit-generator", HOST),
            entry("rng-get-and-update-state", REFUSED),
            entry("round-nearest-afz", scoped(Arithmetic::roundAwayFromZero)),
            entry("round-nearest-even", unary(torch::round_out)),
            entry("rsqrt", unary(torch::rsqrt_out)),
            entry("scatter", Indexed::scatter),
            entry("select", Arithmetic::select),
            entry("select-and-scatter", Windows::selectAndScatter),
            entry("shift-left", Arithmetic.shift(Arithmetic.Shift.LEFT)),
            entry("shift-right-arithmetic", Arithmetic.shift(Arithmetic.Shift.RIGHT_ARITHMETIC)),
            entry("shift-right-logical", Arithmetic.shift(Arithmetic.Shift.RIGHT_LOGICAL)),
            entry(
                    "sign",
                    hostFor(
                            byType(scoped(Arithmetic::signFloats), unary(torch::sign_out), HOST),
                            DType.U64,
                            DType.C64)),
            entry("sine", unary(torch::sin_out)),
            entry("slice", Movement::slice),
            entry("sort", Sorting::sort),
            entry("sqrt", unary(torch::sqrt_out)),
            entry("stochastic-convert", HOST),
            entry("subtract", byType(binary(torch::sub_out), binary(torch::sub_out), binary(torch::logical_xor_out))),
            entry("tan", unary(torch::tan_out)),
            entry("tanh", unary(torch::tanh_out)),
            entry("topk", Sorting::topK),
            entry("transpose", Movement::transpose),
            entry("triangular-solve", HOST),
            entry("while", Control::loop),
            entry("xor", byType(HOST, binary(torch::bitwise_xor_out), binary(torch::logical_xor_out))));

    /** Ops that flattening removes. */
    private static final Set<String> STRUCTURAL = Set.of(
            "add-dependency",
            "after-all",
            "call",
            "copy",
            "copy-done",
            "copy-start",
            "domain",
            "fusion",
            "get-tuple-element",
            "opt-barrier",
            "parameter",
            "tuple");

    /** Ops that map elements to elements, so that computations of them over scalars can be run over arrays. */
    static final Set<String> ELEMENTWISE = Set.of(
            "abs",
            "add",
            "and",
            "atan2",
            "cbrt",
            "ceil",
            "clamp",
            "compare",
            "convert",
            "cosine",
            "divide",
            "erf",
            "exponential",
            "exponential-minus-one",
            "floor",
            "is-finite",
            "log",
            "log-plus-one",
            "logistic",
            "maximum",
            "minimum",
            "multiply",
            "negate",
            "not",
            "or",
            "power",
            "remainder",
            "round-nearest-afz",
            "round-nearest-even",
            "rsqrt",
            "select",
            "shift-left",
            "shift-right-arithmetic",
            "shift-right-logical",
            "sign",
            "sine",
            "sqrt",
            "subtract",
            "tan",
            "tanh",
            "xor");

    private Kernels() {}

    /** The kernel of a node. */
    public static Kernel of(Node node) {
        if (node.op() instanceof Fused fused) {
            return fused.kernel();
        }
        Kernel kernel = TABLE.get(node.op().opcode());
        if (kernel == null) {
            throw new UserError(unsupported(List.of(node.op().opcode())));
        }
        return kernel;
    }

    /** Whether an opcode has a kernel, is removed by flattening, or is known to be refused; else it has been forgotten. */
    public static boolean knows(String opcode) {
        return TABLE.containsKey(opcode) || STRUCTURAL.contains(opcode);
    }

    /** Fails, naming all of them, if a computation has ops without a meaning here. */
    public static void check(Computation computation) {
        List<String> unsupported = without(computation);
        if (!unsupported.isEmpty()) {
            throw new UserError(unsupported(unsupported));
        }
    }

    /** The ops of a computation, and of those that it calls, that have no meaning here: opcodes, and targets of custom calls. */
    public static List<String> without(Computation computation) {
        Set<String> unsupported = new TreeSet<>();
        for (Computation each : new Graph("check", computation).computations()) {
            for (Instruction instruction : each.instructions()) {
                String opcode = instruction.op().opcode();
                boolean known = knows(opcode) && TABLE.get(opcode) != REFUSED;
                if (instruction.op() instanceof CustomCall call && !call.hasMeaning(instruction.operandShapes())) {
                    unsupported.add("custom-call " + call.target());
                } else if (!known) {
                    unsupported.add(opcode);
                }
            }
        }
        return new ArrayList<>(unsupported);
    }

    private static String unsupported(List<String> opcodes) {
        return "The ops (" + String.join(", ", opcodes)
                + ") of the program must be ones that the libtorch backend has.";
    }

    private static void customCall(Emitter emitter, Node node) {
        CustomCall call = (CustomCall) node.op();
        if (call.isMark()) {
            emitter.define(node.ref(), emitter.input(node, 0));
        } else {
            HOST.emit(emitter, node);
        }
    }

    private static void map(Emitter emitter, Node node) {
        List<dev.drover.backend.torch.emit.View> inputs = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            inputs.add(emitter.input(node, i));
        }
        var mapped = Folding.apply(
                emitter, node.op().calls().get(0), inputs, node.shape().dims());
        if (mapped == null) {
            HOST.emit(emitter, node);
        } else {
            emitter.define(node.ref(), mapped.get(0));
        }
    }

    /** An op of this backend alone, made by a rewrite. */
    public interface Fused extends dev.drover.ir.ops.Op {
        Kernel kernel();
    }
}

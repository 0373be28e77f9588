package dev.drover.ir.ops;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Every op kind, by opcode. */
public final class Ops {
    /** All kinds in the order of their opcodes. A new op is one file and one line here. */
    public static final List<OpKind> ALL = Stream.of(
                    AddDependency.KIND,
                    AfterAll.KIND,
                    AllGather.KIND,
                    AllGather.START,
                    AllReduce.KIND,
                    AllReduce.START,
                    AllToAll.KIND,
                    BatchNormGrad.KIND,
                    BatchNormInference.KIND,
                    BatchNormTraining.KIND,
                    BinaryKind.ADD.kind(),
                    BinaryKind.AND.kind(),
                    BinaryKind.ATAN2.kind(),
                    BinaryKind.COMPLEX.kind(),
                    BinaryKind.DIVIDE.kind(),
                    BinaryKind.MAXIMUM.kind(),
                    BinaryKind.MINIMUM.kind(),
                    BinaryKind.MULTIPLY.kind(),
                    BinaryKind.OR.kind(),
                    BinaryKind.POWER.kind(),
                    BinaryKind.REMAINDER.kind(),
                    BinaryKind.SHIFT_LEFT.kind(),
                    BinaryKind.SHIFT_RIGHT_ARITHMETIC.kind(),
                    BinaryKind.SHIFT_RIGHT_LOGICAL.kind(),
                    BinaryKind.SUBTRACT.kind(),
                    BinaryKind.XOR.kind(),
                    Bitcast.KIND,
                    BitcastConvert.KIND,
                    Broadcast.KIND,
                    Call.KIND,
                    Cholesky.KIND,
                    Clamp.KIND,
                    CollectiveBroadcast.KIND,
                    CollectiveDone.ALL_GATHER,
                    CollectiveDone.ALL_REDUCE,
                    CollectiveDone.COLLECTIVE_PERMUTE,
                    CollectivePermute.KIND,
                    CollectivePermute.START,
                    Compare.KIND,
                    Concatenate.KIND,
                    Conditional.KIND,
                    Constant.KIND,
                    Convert.KIND,
                    Convolution.KIND,
                    Copy.KIND,
                    CopyDone.KIND,
                    CopyStart.KIND,
                    CustomCall.KIND,
                    Dot.KIND,
                    DynamicSlice.KIND,
                    DynamicUpdateSlice.KIND,
                    ElementMap.KIND,
                    Fft.KIND,
                    Fusion.KIND,
                    Gather.KIND,
                    GetTupleElement.KIND,
                    Iota.KIND,
                    OptimizationBarrier.KIND,
                    Pad.KIND,
                    Parameter.KIND,
                    PartitionId.KIND,
                    Reduce.KIND,
                    ReducePrecision.KIND,
                    ReduceScatter.KIND,
                    ReduceWindow.KIND,
                    ReplicaId.KIND,
                    Reshape.KIND,
                    Reverse.KIND,
                    Rng.KIND,
                    RngBitGenerator.KIND,
                    RngGetAndUpdateState.KIND,
                    Scatter.KIND,
                    Select.KIND,
                    SelectAndScatter.KIND,
                    Slice.KIND,
                    Sort.KIND,
                    TopK.KIND,
                    Transpose.KIND,
                    TriangularSolve.KIND,
                    Tuple.KIND,
                    UnaryKind.ABS.kind(),
                    UnaryKind.CBRT.kind(),
                    UnaryKind.CEIL.kind(),
                    UnaryKind.COSINE.kind(),
                    UnaryKind.COUNT_LEADING_ZEROS.kind(),
                    UnaryKind.ERF.kind(),
                    UnaryKind.EXPONENTIAL.kind(),
                    UnaryKind.EXPONENTIAL_MINUS_ONE.kind(),
                    UnaryKind.FLOOR.kind(),
                    UnaryKind.IMAG.kind(),
                    UnaryKind.IS_FINITE.kind(),
                    UnaryKind.LOG.kind(),
                    UnaryKind.LOGISTIC.kind(),
                    UnaryKind.LOG_PLUS_ONE.kind(),
                    UnaryKind.NEGATE.kind(),
                    UnaryKind.NOT.kind(),
                    UnaryKind.POPCNT.kind(),
                    UnaryKind.REAL.kind(),
                    UnaryKind.ROUND_NEAREST_AFZ.kind(),
                    UnaryKind.ROUND_NEAREST_EVEN.kind(),
                    UnaryKind.RSQRT.kind(),
                    UnaryKind.SIGN.kind(),
                    UnaryKind.SINE.kind(),
                    UnaryKind.SQRT.kind(),
                    UnaryKind.TAN.kind(),
                    UnaryKind.TANH.kind(),
                    While.KIND)
            .sorted(java.util.Comparator.comparing(OpKind::opcode))
            .toList();

    private static final Map<String, OpKind> BY_OPCODE =
            ALL.stream().collect(Collectors.toUnmodifiableMap(OpKind::opcode, kind -> kind));

    private Ops() {}

    /** The kind of an opcode, or null if there is none. */
    public static @Nullable OpKind byOpcode(String opcode) {
        return BY_OPCODE.get(opcode);
    }
}

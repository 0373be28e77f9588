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
                    AllGather.KIND,
                    AllGather.START,
                    AllReduce.KIND,
                    AllReduce.START,
                    AllToAll.KIND,
                    BatchNormGrad.KIND,
                    BatchNormInference.KIND,
                    BatchNormTraining.KIND,
                    Call.KIND,
                    Cholesky.KIND,
                    CollectiveBroadcast.KIND,
                    CollectiveDone.ALL_GATHER,
                    CollectiveDone.ALL_REDUCE,
                    CollectiveDone.COLLECTIVE_PERMUTE,
                    CollectivePermute.KIND,
                    CollectivePermute.START,
                    Conditional.KIND,
                    Convolution.KIND,
                    CustomCall.KIND,
                    Dot.KIND,
                    ElementMap.KIND,
                    Fft.KIND,
                    Fusion.KIND,
                    Gather.KIND,
                    Parameter.KIND,
                    PartitionId.KIND,
                    Reduce.KIND,
                    ReduceScatter.KIND,
                    ReduceWindow.KIND,
                    ReplicaId.KIND,
                    Rng.KIND,
                    RngBitGenerator.KIND,
                    RngGetAndUpdateState.KIND,
                    Scatter.KIND,
                    SelectAndScatter.KIND,
                    Sort.KIND,
                    TopK.KIND,
                    TriangularSolve.KIND,
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

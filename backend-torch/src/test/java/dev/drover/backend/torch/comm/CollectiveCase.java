package dev.drover.backend.torch.comm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * One use of a communicator, which each member checks by itself: inputs are random small integers, exact in every type, that any
 * member can compute for all others.
 */
final class CollectiveCase {

    private enum Kind {
        ALL_REDUCE,
        ALL_GATHER,
        REDUCE_SCATTER,
        ALL_TO_ALL,
        BROADCAST,
        RING
    }

    private static final List<DType> DTYPES = List.of(
            DType.F32, DType.F64, DType.BF16, DType.F16, DType.S8, DType.U8, DType.S32, DType.S64, DType.F8E4M3FN);

    private final Kind kind;
    private final DType dtype;
    private final Reduction reduction;
    private final long elements;
    private final long seed;

    private CollectiveCase(Kind kind, DType dtype, Reduction reduction, long elements, long seed) {
        this.kind = kind;
        this.dtype = dtype;
        this.reduction = reduction;
        this.elements = elements;
        this.seed = seed;
    }

    /** Every kind, for every type at a small and a medium size, and more reductions and sizes (0, uneven, large) for f32. */
    static List<CollectiveCase> all() {
        List<CollectiveCase> cases = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            for (DType dtype : DTYPES) {
                add(cases, kind, dtype, Reduction.SUM, 7, 30_001);
            }
        }
        for (Reduction reduction : List.of(Reduction.MAX, Reduction.MIN, Reduction.PROD)) {
            for (DType dtype : List.of(DType.F32, DType.BF16, DType.S32)) {
                add(cases, Kind.ALL_REDUCE, dtype, reduction, 7, 30_001);
                add(cases, Kind.REDUCE_SCATTER, dtype, reduction, 9);
            }
        }
        for (Reduction reduction : List.of(Reduction.AND, Reduction.OR)) {
            add(cases, Kind.ALL_REDUCE, DType.PRED, reduction, 5, 200_003);
            add(cases, Kind.ALL_REDUCE, DType.S32, reduction, 5);
        }
        for (Kind kind : Kind.values()) {
            add(cases, kind, DType.F32, Reduction.SUM, 0, 1, 3, 300_001);
        }
        return cases;
    }

    /** So large that the ring of the library is used. */
    static CollectiveCase large() {
        return new CollectiveCase(Kind.ALL_REDUCE, DType.F32, Reduction.SUM, 4_500_001, 1);
    }

    private static void add(List<CollectiveCase> cases, Kind kind, DType dtype, Reduction reduction, long... sizes) {
        for (long size : sizes) {
            cases.add(new CollectiveCase(kind, dtype, reduction, size, cases.size()));
        }
    }

    /** Runs it among the members of a communicator; throws when something is not as it should be. */
    void run(Communicator communicator) {
        try (PointerScope scope = new PointerScope()) {
            switch (kind) {
                case ALL_REDUCE -> allReduce(communicator);
                case ALL_GATHER -> allGather(communicator);
                case REDUCE_SCATTER -> reduceScatter(communicator);
                case ALL_TO_ALL -> allToAll(communicator);
                case BROADCAST -> broadcast(communicator);
                case RING -> ring(communicator);
            }
        }
    }

    private void allReduce(Communicator communicator) {
        Tensor tensor = tensor(values(communicator, communicator.self(), elements));
        long scratch = CollectiveScratch.allReduce(elements, dtype, reduction, communicator.size());
        communicator
                .allReduce(buffer(tensor), reduction, buffer(empty(scratch)))
                .await();
        check(tensor, reduced(communicator));
    }

    private void allGather(Communicator communicator) {
        long[] counts = unevenCounts(communicator);
        double[][] pieces = new double[communicator.size()][];
        for (int member = 0; member < pieces.length; member++) {
            pieces[member] = values(communicator, member, counts[member]);
        }
        Tensor output = empty(Arrays.stream(counts).sum());
        communicator
                .allGather(buffer(tensor(pieces[communicator.self()])), buffer(output), counts)
                .await();
        check(output, Arrays.stream(pieces).flatMapToDouble(Arrays::stream).toArray());
    }

    private void reduceScatter(Communicator communicator) {
        long[] counts = Communicator.evenCounts(elements, communicator.size());
        Tensor input = tensor(values(communicator, communicator.self(), elements));
        Tensor output = empty(counts[communicator.self()]);
        long scratch = CollectiveScratch.reduceScatter(counts[communicator.self()], communicator.size());
        communicator
                .reduceScatter(buffer(input), buffer(output), counts, reduction, buffer(empty(scratch)))
                .await();
        int start = (int) Arrays.stream(counts).limit(communicator.self()).sum();
        check(output, Arrays.copyOfRange(reduced(communicator), start, start + (int) output.numel()));
        check(input, values(communicator, communicator.self(), elements));
    }

    /** Member i sends base + i + j elements to member j. */
    private void allToAll(Communicator communicator) {
        int size = communicator.size();
        int self = communicator.self();
        long base = elements / size;
        long[] inputCounts = new long[size];
        for (int member = 0; member < size; member++) {
            inputCounts[member] = elements == 0 ? 0 : base + self + member;
        }
        long[] outputCounts = inputCounts;
        Tensor output = empty(Arrays.stream(outputCounts).sum());
        double[] input = values(communicator, self, Arrays.stream(inputCounts).sum());
        communicator
                .allToAll(buffer(tensor(input)), buffer(output), inputCounts, outputCounts)
                .await();
        double[] expected = new double[(int) output.numel()];
        int at = 0;
        for (int member = 0; member < size; member++) {
            int skipped = 0;
            int total = 0;
            for (int to = 0; to < size; to++) {
                int count = (int) (elements == 0 ? 0 : base + member + to);
                skipped += to < self ? count : 0;
                total += count;
            }
            double[] theirs = values(communicator, member, total);
            System.arraycopy(theirs, skipped, expected, at, (int) outputCounts[member]);
            at += (int) outputCounts[member];
        }
        check(output, expected);
    }

    private void broadcast(Communicator communicator) {
        for (int root = 0; root < communicator.size(); root++) {
            Tensor tensor = tensor(values(communicator, communicator.self(), elements));
            communicator.broadcast(buffer(tensor), root);
            check(tensor, values(communicator, root, elements));
        }
    }

    /** Two messages to the right, two from the left, received in the other order of tags. */
    private void ring(Communicator communicator) {
        int size = communicator.size();
        int right = (communicator.self() + 1) % size;
        int left = (communicator.self() - 1 + size) % size;
        if (size == 1 || elements == 0) {
            return;
        }
        Tensor mine = tensor(values(communicator, communicator.self(), elements));
        Tensor mineToo = tensor(values(communicator, communicator.self() + size, elements));
        Tensor first = empty(elements);
        Tensor second = empty(elements);
        List<Transfer> transfers = List.of(
                communicator.send(buffer(mine), right, 11),
                communicator.send(buffer(mineToo), right, 22),
                communicator.receive(buffer(second), left, 22),
                communicator.receive(buffer(first), left, 11));
        transfers.forEach(Transfer::await);
        check(first, values(communicator, left, elements));
        check(second, values(communicator, left + size, elements));
    }

    // --- values -----------------------------------------------------------------------------------

    private long[] unevenCounts(Communicator communicator) {
        long[] counts = Communicator.evenCounts(elements, communicator.size());
        if (communicator.size() > 1) {
            counts[1] += counts[0];
            counts[0] = 0;
        }
        return counts;
    }

    private double[] values(Communicator communicator, int member, long count) {
        Random random = new Random(seed * 1000 + communicator.ranks().hashCode() * 10L + member);
        double[] values = new double[(int) count];
        for (int i = 0; i < values.length; i++) {
            values[i] = dtype == DType.PRED || dtype == DType.U8
                    ? random.nextInt(2)
                    : reduction == Reduction.PROD ? random.nextInt(5) - 2 : random.nextInt(9) - 4;
        }
        return values;
    }

    private double[] reduced(Communicator communicator) {
        double[] result = values(communicator, 0, elements);
        for (int member = 1; member < communicator.size(); member++) {
            double[] more = values(communicator, member, elements);
            for (int i = 0; i < result.length; i++) {
                result[i] = switch (reduction) {
                    case SUM -> result[i] + more[i];
                    case PROD -> result[i] * more[i];
                    case MAX -> Math.max(result[i], more[i]);
                    case MIN -> Math.min(result[i], more[i]);
                    case AND -> (long) result[i] & (long) more[i];
                    case OR -> (long) result[i] | (long) more[i];
                };
            }
        }
        return result;
    }

    private ScalarType type() {
        return switch (dtype) {
            case F32 -> ScalarType.Float;
            case F64 -> ScalarType.Double;
            case BF16 -> ScalarType.BFloat16;
            case F16 -> ScalarType.Half;
            case F8E4M3FN -> ScalarType.Float8_e4m3fn;
            case S8 -> ScalarType.Char;
            case U8 -> ScalarType.Byte;
            case S32 -> ScalarType.Int;
            case S64 -> ScalarType.Long;
            case PRED -> ScalarType.Bool;
            default -> throw new IllegalStateException(dtype.hloName());
        };
    }

    private static Tensor floats(double[] values) {
        if (values.length == 0) {
            return torch.zeros(new long[] {0});
        }
        float[] floats = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            floats[i] = (float) values[i];
        }
        return torch.tensor(floats);
    }

    private Tensor tensor(double[] values) {
        return floats(values).to(type());
    }

    private Tensor empty(long count) {
        return torch.zeros(new long[] {count}).to(type());
    }

    private NativeBuffer buffer(Tensor tensor) {
        return NativeBuffer.of(dtype, tensor);
    }

    private void check(Tensor actual, double[] expected) {
        Tensor difference = actual.to(ScalarType.Float).sub(floats(expected)).abs();
        double worst = expected.length == 0 ? 0 : difference.max().item_float();
        assertThat(worst).as(toString()).isZero();
        assertThat(actual.numel()).isEqualTo(expected.length);
    }

    @Override
    public String toString() {
        return kind + " " + dtype.hloName() + "[" + elements + "] " + reduction;
    }
}

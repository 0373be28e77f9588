package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Which operands of a collective share messages. Among n members each operand that travels by itself takes 2 (n - 1) messages of each
 * member, and a message takes some 20 microseconds of processor time, whatever its size. So small operands of one type are copied
 * into one buffer, one after another. Large ones travel from where they lie. Sums are added up element by element in the order of the
 * members either way, so the bits are the same.
 */
final class Packs {
    /** Larger operands cost more to copy than to send. */
    private static final long SMALL_BYTES = 256 << 10;
    /** Of a pack, so that the copies take little memory. */
    private static final long PACK_BYTES = 4 << 20;

    private Packs() {}

    /** Numbers of the operands that travel together, each group in order; large ones come alone. */
    static List<List<Integer>> of(List<View> operands) {
        List<List<Integer>> packs = new ArrayList<>();
        Map<DType, List<Integer>> openByType = new LinkedHashMap<>();
        Map<DType, Long> bytesByType = new LinkedHashMap<>();
        for (int i = 0; i < operands.size(); i++) {
            View operand = operands.get(i);
            DType dtype = operand.dtype();
            long bytes = operand.elements() * Carriers.width(dtype);
            if (bytes > SMALL_BYTES) {
                packs.add(List.of(i));
                continue;
            }
            List<Integer> open = openByType.get(dtype);
            if (open == null || bytesByType.getOrDefault(dtype, 0L) + bytes > PACK_BYTES) {
                open = new ArrayList<>();
                openByType.put(dtype, open);
                bytesByType.put(dtype, 0L);
                packs.add(open);
            }
            open.add(i);
            bytesByType.merge(dtype, bytes, Long::sum);
        }
        return packs;
    }

    /** Elements of values of these sizes. */
    static long elements(List<long[]> sizes) {
        return sizes.stream()
                .mapToLong(each -> LongStream.of(each).reduce(1, (a, b) -> a * b))
                .sum();
    }

    /** Places for values of these sizes one after another along the last dim of a buffer; its other dims come before each value's. */
    static List<View> places(View buffer, List<long[]> sizes) {
        int last = buffer.rank() - 1;
        List<View> places = new ArrayList<>();
        long at = 0;
        for (long[] each : sizes) {
            long length = elements(List.of(each));
            long[] dims = Arrays.copyOf(buffer.sizes(), last + each.length);
            System.arraycopy(each, 0, dims, last, each.length);
            View place = buffer.narrow(last, at, length).reshape(dims);
            if (place == null) {
                throw new IllegalStateException("The buffer (" + buffer + ") must be row-major.");
            }
            places.add(place);
            at += length;
        }
        return places;
    }

    /** What copies views to others of the same sizes. */
    static Runnable copies(Binder binder, List<View> from, List<View> to) {
        Tensor[] sources = from.stream().map(binder::tensor).toArray(Tensor[]::new);
        Tensor[] targets = to.stream().map(binder::tensor).toArray(Tensor[]::new);
        return () -> {
            for (int i = 0; i < sources.length; i++) {
                targets[i].copy_(sources[i]);
            }
        };
    }
}

package dev.drover.ir.pass;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.DynamicSlice;
import dev.drover.ir.ops.DynamicUpdateSlice;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Slice;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Slices at constant positions.
 *
 * <pre>
 * d = dynamic-slice(a, 2, 0), sizes={1,8}          =>  d = slice(a), slice={[2:3], [0:8]}
 * u = dynamic-update-slice(a, x, 2, 0)
 * s = slice(u), slice={[2:3], [0:8]}               =>  x
 * t = slice(u), slice={[1:2], [0:8]}               =>  t = slice(a), slice={[1:2], [0:8]}
 * </pre>
 *
 * So an unrolled scan hands values from turn to turn and not through the arrays that stack them.
 */
final class StaticSlices {
    private StaticSlices() {}

    /** A block of an array. */
    @SuppressWarnings("ArrayRecordComponent") // compared by same()
    private record Region(long[] start, long[] size) {
        boolean same(Region other) {
            return Arrays.equals(start, other.start) && Arrays.equals(size, other.size);
        }

        boolean apart(Region other) {
            for (int i = 0; i < start.length; i++) {
                if (start[i] + size[i] <= other.start[i] || other.start[i] + other.size[i] <= start[i]) {
                    return true;
                }
            }
            return false;
        }
    }

    /** Something simpler than the op, or null if it is no slice or there is nothing simpler. */
    static @Nullable Instruction simplified(
            Scope scope, Op op, List<Instruction> operands, String name, Map<String, String> annotations) {
        Region region = region(op, operands);
        if (region == null) {
            return null;
        }
        Instruction source = operands.get(0);
        while (source.op() instanceof DynamicUpdateSlice) {
            Region written = written(source);
            if (written == null) {
                break;
            }
            if (written.same(region)) {
                return source.operand(1);
            }
            if (!written.apart(region)) {
                break;
            }
            source = source.operand(0);
        }
        if (Arrays.equals(region.size(), source.array().dims())) {
            return source;
        }
        if (source == operands.get(0) && op instanceof Slice) {
            return null;
        }
        return scope.add(slice(region), List.of(source), name, annotations);
    }

    private static Op slice(Region region) {
        List<Long> start = new ArrayList<>();
        List<Long> limit = new ArrayList<>();
        List<Long> stride = new ArrayList<>();
        for (int i = 0; i < region.start().length; i++) {
            start.add(region.start()[i]);
            limit.add(region.start()[i] + region.size()[i]);
            stride.add(1L);
        }
        return new Slice(start, limit, stride);
    }

    private static @Nullable Region region(Op op, List<Instruction> operands) {
        if (op instanceof Slice slice) {
            if (slice.strides().stream().anyMatch(stride -> stride != 1)) {
                return null;
            }
            long[] start = longs(slice.starts());
            long[] size = longs(slice.limits());
            for (int i = 0; i < size.length; i++) {
                size[i] -= start[i];
            }
            return new Region(start, size);
        }
        if (op instanceof DynamicSlice slice) {
            long[] size = longs(slice.sizes());
            long[] start = start(operands.get(0).array(), size, operands.subList(1, operands.size()));
            return start == null ? null : new Region(start, size);
        }
        return null;
    }

    private static @Nullable Region written(Instruction update) {
        long[] size = update.operand(1).array().dims();
        long[] start = start(
                update.array(),
                size,
                update.operands().subList(2, update.operands().size()));
        return start == null ? null : new Region(start, size);
    }

    /** The position as HLO defines it: moved so that the block lies inside; null unless all indexes are constants. */
    private static long @Nullable [] start(ArrayShape whole, long[] size, List<Instruction> indexes) {
        if (indexes.size() != size.length) {
            return null;
        }
        long[] start = new long[size.length];
        for (int i = 0; i < start.length; i++) {
            Literal index = Known.constant(indexes.get(i));
            if (index == null) {
                return null;
            }
            start[i] = Math.max(0, Math.min(index.asLong(0), whole.dim(i) - size[i]));
        }
        return start;
    }

    private static long[] longs(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }
}

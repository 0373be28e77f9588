package dev.drover.ir.pass;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Concatenate;
import dev.drover.ir.ops.DynamicSlice;
import dev.drover.ir.ops.DynamicUpdateSlice;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Slice;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Slices at constant positions.
 *
 * <pre>
 * d = dynamic-slice(a, 2, 0), sizes={1,8}          =>  d = slice(a), slice={[2:3], [0:8]}
 * u = dynamic-update-slice(a, x, 2, 0)
 * s = slice(u), slice={[2:3], [0:8]}               =>  x
 * t = slice(u), slice={[1:2], [0:8]}               =>  t = slice(a), slice={[1:2], [0:8]}
 * v = dynamic-update-slice(dynamic-update-slice(a, x, 0), y, 4)   =>  v = concatenate(x, y)   if they fill all of a
 * w = slice(concatenate(x, y)), slice={[4:8]}                     =>  y
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

        Region shifted(int dim, long by) {
            long[] moved = start.clone();
            moved[dim] += by;
            return new Region(moved, size);
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
        if (op instanceof DynamicUpdateSlice) {
            return stacked(scope, operands, name, annotations);
        }
        Region region = region(op, operands);
        if (region == null) {
            return null;
        }
        Instruction source = operands.get(0);
        while (true) {
            if (source.op() instanceof DynamicUpdateSlice) {
                Region written = written(source.operands());
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
            } else if (source.op() instanceof Concatenate concatenate && region.size()[concatenate.dimension()] > 0) {
                int dim = concatenate.dimension();
                long before = 0;
                int part = 0;
                while (before + source.operand(part).array().dim(dim) <= region.start()[dim]) {
                    before += source.operand(part++).array().dim(dim);
                }
                Region inPart = region.shifted(dim, -before);
                if (inPart.start()[dim] + inPart.size()[dim]
                        > source.operand(part).array().dim(dim)) {
                    break;
                }
                region = inPart;
                source = source.operand(part);
            } else {
                break;
            }
        }
        if (Arrays.equals(region.size(), source.array().dims())) {
            return source;
        }
        if (source == operands.get(0) && op instanceof Slice) {
            return null;
        }
        return scope.add(slice(region), List.of(source), name, annotations);
    }

    /** The pieces side by side if this update and those before it fill the whole along one dim; else null. */
    private static @Nullable Instruction stacked(
            Scope scope, List<Instruction> operands, String name, Map<String, String> annotations) {
        long[] whole = operands.get(0).array().dims();
        TreeMap<Long, Instruction> pieces = new TreeMap<>();
        int dim = -1;
        long filled = 0;
        List<Instruction> update = operands;
        while (true) {
            Region written = written(update);
            if (written == null) {
                return null;
            }
            for (int i = 0; i < whole.length; i++) {
                if (written.size()[i] != whole[i]) {
                    if (dim >= 0 && dim != i) {
                        return null;
                    }
                    dim = i;
                }
            }
            if (dim < 0) {
                return update.get(1);
            }
            long start = written.start()[dim];
            long size = written.size()[dim];
            Map.Entry<Long, Instruction> below = pieces.floorEntry(start);
            boolean same = below != null && below.getKey() == start && size == extent(below.getValue(), dim);
            if (!same) {
                Long above = pieces.ceilingKey(start);
                if ((below != null && below.getKey() + extent(below.getValue(), dim) > start)
                        || (above != null && above < start + size)) {
                    return null;
                }
                pieces.put(start, update.get(1));
                filled += size;
            }
            if (filled == whole[dim]) {
                List<Instruction> parts = List.copyOf(pieces.values());
                return scope.add(new Concatenate(dim, parts.size()), parts, name, annotations);
            }
            if (!(update.get(0).op() instanceof DynamicUpdateSlice)) {
                return null;
            }
            update = update.get(0).operands();
        }
    }

    private static long extent(Instruction piece, int dim) {
        return piece.array().dim(dim);
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

    /** Where an update with these operands writes. */
    private static @Nullable Region written(List<Instruction> operands) {
        long[] size = operands.get(1).array().dims();
        long[] start = start(operands.get(0).array(), size, operands.subList(2, operands.size()));
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

package dev.drover.runtime.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.TensorSlice.Cut;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** With pieces and blocks of a few bytes, what is read piece by piece is what is taken out at once. */
class SliceBytesTest {
    private static final long SEED = Long.getLong("seed", 1);

    private static Literal numbered(ArrayShape shape) {
        Literal literal = Literal.zeros(shape);
        for (int i = 0; i < literal.size(); i++) {
            if (shape.dtype().isFloat()) {
                literal.doubles()[i] = i;
            } else {
                literal.longs()[i] = i;
            }
        }
        return literal;
    }

    private static TensorSlice drawn(ArrayShape shape, Random random) {
        TensorSlice slice = new TensorSlice(shape, List.of());
        for (int tries = random.nextInt(4); tries > 0; tries--) {
            int dim = random.nextInt(shape.rank());
            int parts = 2 + random.nextInt(2);
            long size = slice.local().dim(dim);
            if (size % parts != 0 || slice.cuts().stream().anyMatch(cut -> cut.dim() == dim)) {
                continue;
            }
            // Blocks, or every second or third unit, or something between.
            List<Long> strides = new ArrayList<>();
            for (long stride = 1; stride <= size / parts; stride++) {
                if (size % (stride * parts) == 0) {
                    strides.add(stride);
                }
            }
            long stride = strides.get(random.nextInt(strides.size()));
            slice = slice.with(new Cut(dim, stride, parts, random.nextInt(parts)));
        }
        return slice;
    }

    private static ByteBuffer all(Literal literal) {
        ByteBuffer bytes = ByteBuffer.allocate((int) literal.shape().sizeBytes());
        Bits.write(literal, bytes);
        return bytes.flip();
    }

    /** A source that hands out no more than it is asked for, once for each part of it where it is asked in order. */
    private static TensorBytes source(Literal literal) {
        ByteBuffer bytes = all(literal);
        return (offset, sizeBytes) -> bytes.slice((int) offset, sizeBytes);
    }

    private static ByteBuffer piecewise(TensorBytes bytes, int sizeBytes, int pieceBytes) {
        ByteBuffer out = ByteBuffer.allocate(sizeBytes);
        for (int at = 0; at < sizeBytes; at += pieceBytes) {
            int size = Math.min(pieceBytes, sizeBytes - at);
            ByteBuffer piece = bytes.bytes(at, size);
            assertThat(piece.remaining()).isEqualTo(size);
            out.put(piece);
        }
        return out.flip();
    }

    @Test
    void slicesAreThoseThatAreTakenOutAtOnce() {
        Random random = new Random(SEED);
        ArrayShape[] shapes = {
            ArrayShape.of(DType.F32, 12, 6, 4),
            ArrayShape.of(DType.S8, 16, 36),
            ArrayShape.of(DType.F64, 24),
            ArrayShape.of(DType.BF16, 2, 3, 2, 12),
            ArrayShape.of(DType.S64, 6, 1, 9)
        };
        for (int draw = 0; draw < 400; draw++) {
            ArrayShape shape = shapes[random.nextInt(shapes.length)];
            Literal whole = numbered(shape);
            TensorSlice slice = drawn(shape, random);
            int size = (int) slice.local().sizeBytes();
            TensorBytes bytes = SliceBytes.of(source(whole), List.of(slice), 8 << random.nextInt(4));
            assertThat(piecewise(bytes, size, 16 << random.nextInt(3)))
                    .as("seed %d, draw %d, %s", SEED, draw, slice)
                    .isEqualTo(all(slice.extract(whole)));
        }
    }

    /** Micro-batches one after the other, also where a piece begins in one and ends in the next. */
    @Test
    void slicesFollowEachOther() {
        ArrayShape shape = ArrayShape.of(DType.F32, 12, 5);
        Literal whole = numbered(shape);
        List<TensorSlice> slices = new ArrayList<>();
        ByteBuffer expected = ByteBuffer.allocate((int) shape.sizeBytes() / 2);
        for (int m = 0; m < 3; m++) {
            TensorSlice slice = new TensorSlice(shape, List.of(new Cut(0, 6, 2, 1), new Cut(0, 2, 3, m)));
            slices.add(slice);
            expected.put(all(slice.extract(whole)));
        }
        TensorBytes bytes = SliceBytes.of(source(whole), slices, 16);
        assertThat(piecewise(bytes, expected.capacity(), 16)).isEqualTo(expected.flip());
    }
}

package dev.drover.runtime.worker;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.init.Slice;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.TensorSlice;
import dev.drover.runtime.wire.TensorBytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What the state inputs of a training step hold before the first step, as rules. Each worker makes the slices that it owns; they are bit
 * for bit those of the whole value.
 *
 * @param valueByInput by number of the training step's input
 */
public record InitialState(long seed, Map<Integer, InitialValue> valueByInput) {

    public static final InitialState NONE = new InitialState(0, Map.of());

    /** A multiple of every element. */
    private static final int PIECE_BYTES = 8 << 20;

    private static final String SEED = "seed";
    private static final String INITIAL = "initial:";

    public InitialState {
        valueByInput = Map.copyOf(valueByInput);
    }

    /** As options of a load call. */
    public Map<String, String> toOptions() {
        Map<String, String> options = new TreeMap<>();
        options.put(SEED, Long.toString(seed));
        valueByInput.forEach((input, value) ->
                options.put(INITIAL + input, value.key() + " " + value.distribution() + " " + value.name()));
        return options;
    }

    /** What {@link #toOptions} wrote, for the inputs of a worker. */
    static InitialState of(Map<String, String> options, List<Feed> feeds) {
        Map<Integer, InitialValue> values = new TreeMap<>();
        for (Feed feed : feeds) {
            @Nullable String rule = options.get(INITIAL + feed.input());
            if (rule != null) {
                String[] words = rule.split(" ", 3);
                values.put(
                        feed.input(),
                        new InitialValue(
                                words[2],
                                feed.slice().whole(),
                                Distribution.parse(words[1]),
                                Long.parseLong(words[0])));
            }
        }
        return new InitialState(Long.parseLong(options.getOrDefault(SEED, "0")), values);
    }

    /**
     * Makes the slice of an input that a worker owns.
     *
     * @param into takes its pieces, in order
     * @return false where there is no rule
     */
    boolean make(Feed feed, TensorBytes.Sink into) {
        return make(feed, into, PIECE_BYTES);
    }

    boolean make(Feed feed, TensorBytes.Sink into, int pieceBytes) {
        @Nullable InitialValue rule = valueByInput.get(feed.input());
        if (rule == null) {
            return false;
        }
        Pieces pieces = new Pieces(feed.slice().local(), into, pieceBytes);
        @Nullable Slice slice = slice(feed.slice());
        if (slice == null) {
            Literal part = feed.slice().extract(InitialValues.fill(rule, seed));
            for (int i = 0; i < part.size(); i++) {
                pieces.put(part.asDouble(i));
            }
        } else {
            InitialValues.fill(rule, seed, slice, (position, value) -> pieces.put(value));
        }
        pieces.end();
        return true;
    }

    /** Collects elements, and hands them on when a piece is full. */
    private static final class Pieces {
        private final ArrayShape shape;
        private final TensorBytes.Sink into;
        private final ByteBuffer buffer;
        private long handedOn;

        Pieces(ArrayShape shape, TensorBytes.Sink into, int pieceBytes) {
            this.shape = shape;
            this.into = into;
            this.buffer = ByteBuffer.allocate((int) Math.min(pieceBytes, shape.sizeBytes()))
                    .order(ByteOrder.LITTLE_ENDIAN);
        }

        void put(double value) {
            Bits.put(shape.dtype(), value, buffer);
            if (!buffer.hasRemaining()) {
                end();
            }
        }

        void end() {
            if (buffer.position() > 0 || shape.sizeBytes() == 0) {
                buffer.flip();
                into.accept(shape, handedOn, buffer.slice());
                handedOn += buffer.limit();
                buffer.clear();
            }
        }
    }

    /** The same part of the whole in the other notation; null where a dim is cut twice. */
    private static @Nullable Slice slice(TensorSlice tensorSlice) {
        ArrayShape whole = tensorSlice.whole();
        List<Slice.Dim> dims = new ArrayList<>();
        for (int dim = 0; dim < whole.rank(); dim++) {
            dims.add(Slice.Dim.of(0, whole.dim(dim)));
        }
        boolean[] cutDims = new boolean[whole.rank()];
        for (TensorSlice.Cut cut : tensorSlice.cuts()) {
            if (cutDims[cut.dim()]) {
                return null;
            }
            cutDims[cut.dim()] = true;
            long period = cut.stride() * cut.parts();
            dims.set(
                    cut.dim(),
                    new Slice.Dim(cut.index() * cut.stride(), cut.stride(), period, whole.dim(cut.dim()) / period));
        }
        return new Slice(dims);
    }
}

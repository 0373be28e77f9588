package dev.drover.runtime.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** With blocks of 8 bytes: values larger than a block are what was put, whatever pieces came and are asked for. */
class WaitingDataTest {
    private static final long SEED = Long.getLong("seed", 1);

    private static byte[] read(WaitingData.Value value, int offset, int size) {
        byte[] out = new byte[size];
        int[] next = {0};
        value.slices(offset, size, (bytes, distance) -> {
            assertThat(distance).isEqualTo(next[0]);
            int length = bytes.remaining();
            bytes.get(out, next[0], length);
            next[0] += length;
        });
        assertThat(next[0]).isEqualTo(size);
        return out;
    }

    @Test
    void whatComesInPiecesIsReadInOthers() {
        Random random = new Random(SEED);
        WaitingData waiting = new WaitingData(8);
        for (int draw = 0; draw < 200; draw++) {
            byte[] bytes = new byte[random.nextInt(60)];
            random.nextBytes(bytes);
            WaitingData.Value value = waiting.allocate(ArrayShape.of(DType.S8, bytes.length));
            for (int at = 0; at < bytes.length; ) {
                int size = Math.min(bytes.length - at, 1 + random.nextInt(20));
                value.put(at, ByteBuffer.wrap(bytes, at, size).asReadOnlyBuffer());
                at += size;
            }
            int from = random.nextInt(bytes.length + 1);
            int size = random.nextInt(bytes.length - from + 1);
            assertThat(read(value, from, size))
                    .as("seed %d, draw %d", SEED, draw)
                    .isEqualTo(java.util.Arrays.copyOfRange(bytes, from, from + size));
            if (random.nextBoolean()) {
                waiting.release(value);
            }
        }
    }
}

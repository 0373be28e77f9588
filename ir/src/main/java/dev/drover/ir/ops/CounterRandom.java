package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;

/**
 * The two counter-based generators of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with the order in which
 * XLA lays their words out in an array.
 */
final class CounterRandom {
    private static final int[] ROTATIONS = {13, 15, 26, 6, 17, 29, 16, 24};
    private static final long MASK = 0xFFFFFFFFL;

    private CounterRandom() {}

    /** Threefry2x32 with 20 rounds: two words, the first in the low half of the result. */
    static long threefry2x32(int x0, int x1, int key0, int key1) {
        int[] key = {key0, key1, 0x1BD11BDA ^ key0 ^ key1};
        int a = x0 + key[0];
        int b = x1 + key[1];
        for (int group = 0; group < 5; group++) {
            for (int i = 0; i < 4; i++) {
                a += b;
                b = Integer.rotateLeft(b, ROTATIONS[group % 2 * 4 + i]) ^ a;
            }
            a += key[(group + 1) % 3];
            b += key[(group + 2) % 3] + group + 1;
        }
        return (a & MASK) | ((long) b << 32);
    }

    /** Dim that is cut in two halves for 32-bit words: the first even one, else the largest; -1 for a scalar. */
    private static int splitDim(ArrayShape shape) {
        int split = -1;
        for (int d = 0; d < shape.rank(); d++) {
            if (shape.dim(d) % 2 == 0) {
                return d;
            }
            if (split < 0 || shape.dim(d) > shape.dim(split)) {
                split = d;
            }
        }
        return split;
    }

    /** By how much the counter moves on. */
    static long threefryCounts(ArrayShape shape) {
        if (shape.dtype().bits() == 64) {
            return shape.elements();
        }
        int split = splitDim(shape);
        return split < 0 ? 1 : shape.withDim(split, (shape.dim(split) + 1) / 2).elements();
    }

    /**
     * 64-bit elements take one count each. Of others, elements 2i and 2i+1 along the split dim take the two words of one count; types
     * below 32 bits keep the low bits.
     */
    static long[] threefry(long key, long counter, ArrayShape shape) {
        long[] out = new long[(int) shape.elements()];
        int key0 = (int) key;
        int key1 = (int) (key >>> 32);
        boolean wide = shape.dtype().bits() == 64;
        int split = wide ? -1 : splitDim(shape);
        long half = split < 0 ? 1 : (shape.dim(split) + 1) / 2;
        long inner = split < 0 ? 1 : shape.strides()[split];
        for (int i = 0; i < out.length; i++) {
            long count = i;
            long position = 0;
            if (split >= 0) {
                position = i / inner % shape.dim(split);
                long outer = i / inner / shape.dim(split);
                count = (outer * half + position / 2) * inner + i % inner;
            }
            long at = counter + count;
            long words = threefry2x32((int) at, (int) (at >>> 32), key0, key1);
            out[i] = wide ? words : position % 2 == 0 ? words & MASK : words >>> 32;
        }
        return out;
    }

    /** Philox4x32 with 10 rounds: the four words for a counter of 128 bits. */
    private static int[] philox4x32(long low, long high, long key) {
        int[] x = {(int) low, (int) (low >>> 32), (int) high, (int) (high >>> 32)};
        int key0 = (int) key;
        int key1 = (int) (key >>> 32);
        for (int round = 0; round < 10; round++) {
            long product0 = (x[0] & MASK) * 0xD2511F53L;
            long product1 = (x[2] & MASK) * 0xCD9E8D57L;
            x = new int[] {
                (int) (product1 >>> 32) ^ x[1] ^ key0,
                (int) product1,
                (int) (product0 >>> 32) ^ x[3] ^ key1,
                (int) product0
            };
            key0 += 0x9E3779B9;
            key1 += 0xBB67AE85;
        }
        return x;
    }

    /** Words in order, four for each count; 64-bit elements take two, the low one first; types below 32 bits keep the low bits. */
    static long[] philox(long key, long counterLow, long counterHigh, ArrayShape shape) {
        long[] out = new long[(int) shape.elements()];
        int perCount = shape.dtype().bits() == 64 ? 2 : 4;
        int[] words = {};
        for (int i = 0; i < out.length; i++) {
            if (i % perCount == 0) {
                long low = counterLow + i / perCount;
                long high = counterHigh + (Long.compareUnsigned(low, counterLow) < 0 ? 1 : 0);
                words = philox4x32(low, high, key);
            }
            int at = i % perCount;
            out[i] = perCount == 4 ? words[at] & MASK : (words[2 * at] & MASK) | ((long) words[2 * at + 1] << 32);
        }
        return out;
    }
}

package dev.drover.ir.init;

/**
 * Philox 4x32 with 10 rounds, a counter-based generator: 128 counter bits and 64 key bits give 128 random bits, with no state in between. Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
 */
public final class Philox {
    private static final int ROUNDS = 10;
    private static final long MULTIPLIER_0 = 0xD2511F53L;
    private static final long MULTIPLIER_1 = 0xCD9E8D57L;
    private static final int WEYL_0 = 0x9E3779B9;
    private static final int WEYL_1 = 0xBB67AE85;
    private static final long LOW = 0xFFFFFFFFL;

    private Philox() {}

    /**
     * The block of a counter under a key.
     *
     * @param key 64 bits, the low word first
     * @param low counter words 0 and 1, the low word first
     * @param high counter words 2 and 3, the low word first
     * @param out four words
     */
    public static void block(long key, long low, long high, int[] out) {
        int c0 = (int) low;
        int c1 = (int) (low >>> 32);
        int c2 = (int) high;
        int c3 = (int) (high >>> 32);
        int k0 = (int) key;
        int k1 = (int) (key >>> 32);
        for (int round = 0; round < ROUNDS; round++) {
            long product0 = MULTIPLIER_0 * (c0 & LOW);
            long product1 = MULTIPLIER_1 * (c2 & LOW);
            c0 = (int) (product1 >>> 32) ^ c1 ^ k0;
            c1 = (int) product1;
            c2 = (int) (product0 >>> 32) ^ c3 ^ k1;
            c3 = (int) product0;
            k0 += WEYL_0;
            k1 += WEYL_1;
        }
        out[0] = c0;
        out[1] = c1;
        out[2] = c2;
        out[3] = c3;
    }
}

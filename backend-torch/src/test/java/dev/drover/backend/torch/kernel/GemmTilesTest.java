package dev.drover.backend.torch.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The tiles of a product cover its result once. */
class GemmTilesTest {
    private static final long SEED = Long.getLong("seed", 5);

    @Test
    void coverTheResultOnce() {
        Random random = new Random(SEED);
        for (int trial = 0; trial < 200; trial++) {
            int m = 1 + random.nextInt(700);
            int n = 1 + random.nextInt(2500);
            int least = 1 + random.nextInt(8);
            int[] hits = new int[m * n];
            List<Gemm.Tile> tiles = Gemm.tiles(m, n, least);
            for (Gemm.Tile tile : tiles) {
                for (long row = tile.row(); row < tile.row() + tile.rows(); row++) {
                    for (long column = tile.column(); column < tile.column() + tile.columns(); column++) {
                        hits[(int) (row * n + column)]++;
                    }
                }
            }
            assertThat(hits).as("seed %d: %d x %d", SEED, m, n).containsOnly(1);
        }
    }

    @Test
    void areAsManyAsAskedForWhereTheResultIsLargeEnough() {
        assertThat(Gemm.tiles(1024, 512, 2)).hasSize(4);
        assertThat(Gemm.tiles(512, 2048, 2)).hasSize(4);
        assertThat(Gemm.tiles(256, 1024, 2)).hasSize(2);
        assertThat(Gemm.tiles(256, 256, 1)).hasSize(1);
        assertThat(Gemm.tiles(256, 256, 4)).hasSize(4);
        assertThat(Gemm.tiles(16, 16, 4)).hasSize(1);
    }
}

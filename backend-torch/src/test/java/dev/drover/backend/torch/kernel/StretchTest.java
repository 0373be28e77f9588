package dev.drover.backend.torch.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.backend.torch.LibTorch;
import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** A chain over more elements than a buffer holds; here stretches are short instead. */
class StretchTest {
    private static final int ELEMENTS = 42;
    private static final int WIDTH = 2;
    private static final int BLOCK = 8;

    @Test
    void stretchesMakeTheWhole() {
        LibTorch.setThreads(1);
        BlockLoop loop = new BlockLoop(
                List.of(
                        new BlockLoop.Input(BlockLoop.Along.ELEMENTS, 0),
                        new BlockLoop.Input(BlockLoop.Along.COLUMNS, 1),
                        new BlockLoop.Input(BlockLoop.Along.ROWS, 2),
                        new BlockLoop.Input(BlockLoop.Along.ONCE, 3)),
                List.of(
                        new BlockLoop.Op(BlockLoop.Kind.ADD, 4, 0, 1),
                        new BlockLoop.Op(BlockLoop.Kind.ADD, 4, 4, 2),
                        new BlockLoop.Op(BlockLoop.Kind.ADD, 4, 4, 3)),
                List.of(4),
                5,
                WIDTH,
                BLOCK);
        long blocks = (ELEMENTS + BLOCK - 1) / BLOCK;
        List<BlockLoop.Along> along =
                List.of(BlockLoop.Along.ELEMENTS, BlockLoop.Along.COLUMNS, BlockLoop.Along.ROWS, BlockLoop.Along.ONCE);
        try (Tensor elements = numbers(ELEMENTS, 1);
                Tensor columns = numbers(ELEMENTS / WIDTH, 100);
                Tensor rows = numbers(WIDTH, 10_000);
                Tensor once = numbers(1, 1);
                Tensor out = torch.zeros(ELEMENTS)) {
            List<Stretch.Range> ranges = Stretch.ranges(blocks, 2L);
            assertThat(ranges).hasSize(3).last().isEqualTo(new Stretch.Range(4, 6));
            for (Stretch.Range range : ranges) {
                Stretch stretch = new Stretch(
                        range,
                        new Tensor[] {elements, columns, rows, once},
                        along,
                        new Tensor[] {out},
                        ELEMENTS,
                        WIDTH,
                        BLOCK);
                stretch.locate();
                stretch.run(loop, 0, 3);
                stretch.run(loop, 3, blocks);
            }
            FloatPointer made = new FloatPointer(out.data_ptr());
            for (int i = 0; i < ELEMENTS; i++) {
                assertThat(made.get(i)).as("element %s", i).isEqualTo(i + i / WIDTH * 100 + i % WIDTH * 10_000);
            }
        }
    }

    private static Tensor numbers(int count, double step) {
        Tensor numbers = torch.empty(count);
        FloatPointer data = new FloatPointer(numbers.data_ptr());
        for (int i = 0; i < count; i++) {
            data.put(i, (float) (i * step));
        }
        return numbers;
    }
}

package dev.drover.runtime.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.TensorSlice;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.safetensors.Safetensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A checkpoint is read whole or not at all. */
class StoredStateTest {
    private static final ArrayShape W = ArrayShape.of(DType.F32, 4, 2);
    private static final ArrayShape HALF = ArrayShape.of(DType.F32, 2, 2);
    private static final ArrayShape STEP = ArrayShape.of(DType.S32);
    private static final Map<String, ArrayShape> STATE = Map.of("w", W, "step", STEP);

    @TempDir
    Path root;

    private Path folder = Path.of("");

    @BeforeEach
    void save() throws IOException {
        folder = save(7);
    }

    /** {@code w} in two halves of rows in two files, and a counter. */
    private Path save(long step) throws IOException {
        Path at = Files.createDirectories(CheckpointIndex.folder(root, step));
        Safetensors.write(
                at.resolve("rank-0.safetensors"),
                Map.of(
                        "input:0", Literal.ofDoubles(HALF, new double[] {0, 1, 2, 3}),
                        "input:1", Literal.ofLongs(STEP, new long[] {step})),
                Map.of());
        Safetensors.write(
                at.resolve("rank-1.safetensors"),
                Map.of("input:0", Literal.ofDoubles(HALF, new double[] {4, 5, 6, 7})),
                Map.of());
        new CheckpointIndex(
                        CheckpointIndex.VERSION,
                        step,
                        List.of(
                                new CheckpointIndex.StoredValue(
                                        "w", "f32", List.of(4L, 2L), List.of(half("rank-0", 0), half("rank-1", 1))),
                                new CheckpointIndex.StoredValue(
                                        "step",
                                        "s32",
                                        List.of(),
                                        List.of(new CheckpointIndex.Piece(
                                                "rank-0.safetensors", "input:1", List.of())))))
                .write(at);
        return at;
    }

    /** Cut as they were, cut in another way, and whole. */
    @Test
    void partsAreThoseOfTheValue() {
        Literal whole = Literal.ofDoubles(W, new double[] {0, 1, 2, 3, 4, 5, 6, 7});
        Function<TensorSlice, TensorBytes> parts = StoredState.open(root, STATE).parts("w");
        for (TensorSlice slice : List.of(
                new TensorSlice(W, List.of(new TensorSlice.Cut(0, 2, 2, 1))),
                new TensorSlice(W, List.of(new TensorSlice.Cut(1, 1, 2, 1))),
                new TensorSlice(W, List.of()))) {
            Literal part = Literal.zeros(slice.local());
            for (int i = 0; i < part.size(); i += 2) {
                Bits.read(parts.apply(slice).bytes(4L * i, 8), part, i, 2);
            }
            assertThat(part).isEqualTo(slice.extract(whole));
        }
    }

    private static CheckpointIndex.Piece half(String rank, int index) {
        return new CheckpointIndex.Piece(
                rank + ".safetensors", "input:0", List.of(new CheckpointIndex.PieceCut(0, 2, 2, index)));
    }

    private void edit(String from, String to) throws IOException {
        Path index = folder.resolve("index.json");
        String text = Files.readString(index).replaceAll("\\s+", "");
        assertThat(text).contains(from);
        Files.writeString(index, text.replace(from, to));
    }

    private void assertRefused(Map<String, ArrayShape> state, String... parts) {
        assertThatThrownBy(() -> StoredState.open(root, state))
                .isInstanceOf(UserError.class)
                .message()
                .startsWith("The ")
                .contains(parts);
    }

    @Test
    void piecesArePutTogether() {
        StoredState stored = StoredState.open(root, STATE);
        assertThat(stored.step()).isEqualTo(7);
        assertThat(stored.value("w").doubles()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
        assertThat(stored.value("step").asLong(0)).isEqualTo(7);
    }

    /** Also where it is in the folder of an older one, which training from that one writes. */
    @Test
    void theNewestCompleteOneIsTaken() throws IOException {
        Path unfinished = save(9);
        Files.delete(unfinished.resolve("index.json"));
        save(8);
        assertThat(StoredState.open(root, STATE).step()).isEqualTo(8);
        assertThat(StoredState.open(folder, STATE).step()).isEqualTo(7);
        Files.move(CheckpointIndex.folder(root, 8), CheckpointIndex.folder(folder, 8));
        assertThat(StoredState.open(folder, STATE).step()).isEqualTo(8);
    }

    @Test
    void anotherModelIsTold() {
        assertRefused(Map.of("w", HALF, "step", STEP), "w is f32[4,2], not f32[2,2].");
        assertRefused(Map.of("w", W), "step is unknown to the model.");
        assertRefused(
                Map.of("a", W, "b", W, "c", W, "d", W, "e", W, "w", W, "step", STEP),
                "a is missing, b is missing, c is missing, and 2 more.");
    }

    @Test
    void whatIsNotWholeIsRefused() throws IOException {
        String first = "{\"file\":\"rank-0.safetensors\",\"tensor\":\"input:0\",\"cuts\":[{\"dim\":0,\"stride\":2,"
                + "\"parts\":2,\"index\":0}]}";
        String[][] edits = {
            {first + ",", "", "The pieces (1) of value (w)", "must cover it"},
            {"\"index\":1", "\"index\":0", "The pieces (2) of value (w)", "must cover it"},
            {"\"index\":1", "\"index\":2", "part 2 of 2", "must be one that there is"},
            {"rank-1.safetensors", "rank-0.safetensors", "The tensor (input:0) of file (rank-0", "one of w twice"},
            {"\"dim\":0", "\"dim\":5", "The cut dim (5) of value (w)", "f32[4,2]"},
            {"\"parts\":2", "\"parts\":1", "part 1 of 1", "must be one that there is"},
            {"\"parts\":2", "\"parts\":4", "The tensor (input:0) of file", "must be f32[1,2], a piece of w"},
            {"\"f32\"", "\"f99\"", "The dtype (f99)", "f32"},
            {"\"dims\":[4,2]", "\"dims\":[4,-2]", "The dims ([4, -2])", "at least 0"},
            {"\"dims\":[4,2]", "\"dims\":[4611686018427387904,4]", "", "must "},
            {"\"input:1\"", "\"input:9\"", "must include (input:9)", "rank-0.safetensors"},
            {"\"rank-1", "\"rank-2", "rank-2.safetensors", "must exist"},
            {"\"name\":\"step\"", "\"name\":\"w\"", "The value (w)", "must be there once"},
            {"\"step\":7", "\"step\":\"seven\"", "step", "seven"},
        };
        for (String[] edit : edits) {
            edit(edit[0], edit[1]);
            assertRefused(STATE, edit[2], edit[3]);
            save(7);
        }
    }

    @Test
    void aFileThatIsCutOffIsRefused() throws IOException {
        Path file = folder.resolve("rank-1.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        for (int length : new int[] {bytes.length - 1, 20, 0}) {
            Files.write(file, java.util.Arrays.copyOf(bytes, length));
            assertRefused(STATE, "rank-1.safetensors");
        }
    }
}

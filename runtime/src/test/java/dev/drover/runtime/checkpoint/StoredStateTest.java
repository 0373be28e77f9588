package dev.drover.runtime.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.TensorSlice;
import dev.drover.runtime.checkpoint.CheckpointIndex.Piece;
import dev.drover.runtime.checkpoint.CheckpointIndex.StoredValue;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.safetensors.Safetensors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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
        Literal first = Literal.ofDoubles(HALF, new double[] {0, 1, 2, 3});
        Literal second = Literal.ofDoubles(HALF, new double[] {4, 5, 6, 7});
        Literal counter = Literal.ofLongs(STEP, new long[] {step});
        Safetensors.write(at.resolve("rank-0.safetensors"), Map.of("input:0", first, "input:1", counter), Map.of());
        Safetensors.write(at.resolve("rank-1.safetensors"), Map.of("input:0", second), Map.of());
        StoredValue w = new StoredValue(
                "w", "f32", List.of(4L, 2L), List.of(half("rank-0", 0, first), half("rank-1", 1, second)));
        Piece whole = new Piece("rank-0.safetensors", "input:1", List.of(), checksum(counter));
        StoredValue counted = new StoredValue("step", "s32", List.of(), List.of(whole));
        new CheckpointIndex(CheckpointIndex.VERSION, step, List.of(w, counted)).write(at);
        return at;
    }

    private static String checksum(Literal literal) {
        ByteBuffer bytes = ByteBuffer.allocate((int) literal.shape().sizeBytes());
        Bits.write(literal, bytes);
        Checksum sum = new Checksum();
        sum.add(bytes.flip());
        return sum.text();
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

    private static Piece half(String rank, int index, Literal literal) {
        return new Piece(
                rank + ".safetensors",
                "input:0",
                List.of(new CheckpointIndex.PieceCut(0, 2, 2, index)),
                checksum(literal));
    }

    /** The index without its own checksum and spaces. */
    private String unsigned() throws IOException {
        return Files.readString(folder.resolve("index.json"))
                .replaceAll("\\s+", "")
                .replaceFirst(",\"indexCrc32c\":\"\\w{8}\"", "");
    }

    /** Changes the index as one who knows how to sign it. */
    private void edit(String from, String to) throws IOException {
        String text = unsigned();
        assertThat(text).contains(from);
        write(CheckpointIndex.signed(text.replace(from, to)));
    }

    private void write(String index) throws IOException {
        Files.writeString(folder.resolve("index.json"), index);
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
                + "\"parts\":2,\"index\":0}],\"crc32c\":\""
                + checksum(Literal.ofDoubles(HALF, new double[] {0, 1, 2, 3})) + "\"}";
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
            Files.write(file, Arrays.copyOf(bytes, length));
            assertRefused(STATE, "rank-1.safetensors", "Maybe it was changed after it was saved; copy the files again");
        }
    }

    /** Any bit of any element, also where the change leaves numbers that look right. */
    @Test
    void whatWasFlippedIsRefused() throws IOException {
        save(5);
        for (String name : List.of("rank-0.safetensors", "rank-1.safetensors")) {
            Path file = folder.resolve(name);
            byte[] bytes = Files.readAllBytes(file);
            int elements = name.startsWith("rank-0") ? 20 : 16;
            for (int bit = 0; bit < 8 * elements; bit += 7) {
                byte[] flipped = bytes.clone();
                flipped[bytes.length - elements + bit / 8] ^= (byte) (1 << bit % 8);
                Files.write(file, flipped);
                assertRefused(
                        STATE,
                        "The checksums (CRC-32C) of checkpoint (" + folder + ")",
                        "of file " + name + " (",
                        "move that folder away to go on from step-000000005.");
            }
            Files.write(file, bytes);
        }
        assertThat(StoredState.open(root, STATE).step()).isEqualTo(7);
    }

    @Test
    void filesThatWereSwappedAreRefused() throws IOException {
        Path first = folder.resolve("rank-0.safetensors");
        Path second = folder.resolve("rank-1.safetensors");
        Path other = save(9).resolve("rank-0.safetensors");
        byte[] bytes = Files.readAllBytes(first);
        // Of another step: the weights happen to be the same there, the counter is not.
        Files.write(first, Files.readAllBytes(other));
        assertThatThrownBy(() -> StoredState.open(folder, STATE))
                .isInstanceOf(UserError.class)
                .hasMessageContaining(": tensor input:1 of file rank-0.safetensors (step, ")
                .hasMessageNotContaining("input:0");
        Files.write(first, bytes);
        assertThat(StoredState.open(folder, STATE).hasChecksums()).isTrue();
        // Both halves of w exchanged, in files of their own shape.
        Safetensors one = Safetensors.open(first);
        Literal upper = one.literal("input:0");
        Literal counter = one.literal("input:1");
        Literal lower = Safetensors.open(second).literal("input:0");
        Safetensors.write(first, Map.of("input:0", lower, "input:1", counter), Map.of());
        Safetensors.write(second, Map.of("input:0", upper), Map.of());
        assertThatThrownBy(() -> StoredState.open(folder, STATE))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("tensor input:0 of file rank-0.safetensors (w, ")
                .hasMessageContaining("tensor input:0 of file rank-1.safetensors (w, ");
    }

    /** A file that was cut off is told by the value that is lost, not by its number alone. */
    @Test
    void aFileThatWasCutOffNamesTheValue() throws IOException {
        Path file = folder.resolve("rank-1.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(bytes, bytes.length - 4));
        assertRefused(STATE, "tensor (input:0, of w)", "rank-1.safetensors");
    }

    /** Any bit and any cut of the index is told as such, with its name and the checkpoint before. */
    @Test
    void anIndexThatWasChangedIsRefused() throws IOException {
        save(5);
        Path index = folder.resolve("index.json");
        byte[] bytes = Files.readAllBytes(index);
        String[] told = {
            "at the end of the checkpoint's index (" + index + ") must be the CRC-32C of what is before it",
            "move that folder away to go on from step-000000005."
        };
        for (int bit = 0; bit < 8 * bytes.length; bit++) {
            byte[] flipped = bytes.clone();
            flipped[bit / 8] ^= (byte) (1 << bit % 8);
            Files.write(index, flipped);
            assertRefused(STATE, told);
        }
        for (int length = bytes.length - 1; length >= 0; length -= 11) {
            Files.write(index, Arrays.copyOf(bytes, length));
            assertRefused(STATE, told);
        }
        // As an editor leaves it.
        String text = new String(bytes, StandardCharsets.UTF_8);
        write(text.replace("\"step\" : 7", "\"step\" : 6"));
        assertRefused(STATE, told);
        write(text.replaceAll("\\s+", ""));
        assertRefused(STATE, told);
        Files.write(index, bytes);
        assertThat(StoredState.open(root, STATE).step()).isEqualTo(7);
    }

    @Test
    void oneWithoutAChecksumOfItsIndexIsReadWithThoseOfItsPieces() throws IOException {
        write(unsigned().replace("\"version\":3", "\"version\":2"));
        StoredState stored = StoredState.open(root, STATE);
        assertThat(stored.hasChecksums()).isTrue();
        assertThat(stored.value("w").doubles()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
    }

    @Test
    void oneOfAnOlderDroverIsReadUnchecked() throws IOException {
        String text = unsigned().replace("\"version\":3", "\"version\":2");
        write(text.replace("\"version\":2", "\"version\":1").replaceAll(",\"crc32c\":\"\\w*\"", ""));
        StoredState stored = StoredState.open(root, STATE);
        assertThat(stored.hasChecksums()).isFalse();
        assertThat(stored.value("w").doubles()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
        write(text.replaceFirst(",\"crc32c\":\"\\w*\"", ""));
        assertRefused(STATE, "The key (values[0].pieces[0].crc32c)", "must be given");
        write(text.replaceFirst("\"crc32c\":\"\\w*\"", "\"crc32c\":\"\""));
        assertRefused(STATE, "The pieces of value (w)", "must have checksums");
        write(text.replace("\"version\":2", "\"version\":4"));
        assertRefused(STATE, "The version (4)", "must be between 1 and 3.", "Maybe it was written by a newer Drover.");
    }
}

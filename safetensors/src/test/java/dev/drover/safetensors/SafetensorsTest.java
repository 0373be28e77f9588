package dev.drover.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SafetensorsTest {
    @TempDir
    Path folder;

    @Test
    void whatIsWrittenReadsBack() {
        Map<String, Literal> tensors = new LinkedHashMap<>();
        tensors.put("step", Literal.scalar(DType.S32, 7));
        tensors.put("half", Literal.ofDoubles(ArrayShape.of(DType.BF16, 3), new double[] {1, 0.1, -2}));
        tensors.put("mask", Literal.ofLongs(ArrayShape.of(DType.PRED, 2, 2), new long[] {1, 0, 0, 1}));
        tensors.put("none", Literal.zeros(ArrayShape.of(DType.F32, 0, 4)));
        tensors.put("w", Literal.ofDoubles(ArrayShape.of(DType.F32, 2, 2), new double[] {1, 2, 3, 4.5}));
        Path file = folder.resolve("a.safetensors");
        Safetensors.write(file, tensors, Map.of("format", "drover"));
        Safetensors read = Safetensors.open(file);
        assertThat(read.metadata()).containsExactly(Map.entry("format", "drover"));
        assertThat(read.tensors().keySet()).containsExactly("step", "half", "mask", "none", "w");
        tensors.forEach((name, literal) -> assertThat(read.literal(name)).isEqualTo(literal));
    }

    /** Tensors above 2 GiB are read and written so; here pieces are small instead. */
    @Test
    void tensorsAreReadAndWrittenInPieces() {
        Literal whole = Literal.ofDoubles(
                ArrayShape.of(DType.F32, 7, 11),
                java.util.stream.IntStream.range(0, 77)
                        .mapToDouble(i -> i - 3.5)
                        .toArray());
        Path file = folder.resolve("pieces.safetensors");
        List<Integer> sizes = new ArrayList<>();
        Safetensors.write(
                file,
                Map.of("w", whole.shape()),
                Map.of(),
                (name, offset, sizeBytes) -> {
                    sizes.add(sizeBytes);
                    ByteBuffer piece = ByteBuffer.allocate(sizeBytes);
                    Bits.write(whole, (int) offset / 4, sizeBytes / 4, piece);
                    return piece.flip();
                },
                64);
        assertThat(sizes).containsExactly(64, 64, 64, 64, 52);
        Safetensors read = Safetensors.open(file);
        assertThat(read.literal("w", 16)).isEqualTo(whole);
        assertThat(read.literal("w")).isEqualTo(whole);
        assertThat(read.bytes("w", 4, 8).getFloat(4)).isEqualTo(-1.5f);
        assertThatThrownBy(() -> read.bytes("w", 304, 8)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void bytesAreThoseOfTheFormat() throws IOException {
        byte[] header =
                "{\"x\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}}".getBytes(StandardCharsets.UTF_8);
        Path file = write(header, new byte[] {1, 0, (byte) 0xff, (byte) 0xff});
        assertThat(Safetensors.open(file).literal("x").longs()).containsExactly(1, -1);
    }

    @Test
    void aFileThatStopsEarlyIsRefused() throws IOException {
        byte[] header =
                "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}".getBytes(StandardCharsets.UTF_8);
        Path file = write(header, new byte[4]);
        assertThatThrownBy(() -> Safetensors.open(file))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The place ([0,8]) of tensor (x)")
                .hasMessageContaining("8 bytes, as f32[2] needs");
        Files.write(file, new byte[] {1, 2});
        assertThatThrownBy(() -> Safetensors.open(file)).isInstanceOf(UserError.class);
    }

    @Test
    void anUnknownTypeIsNamed() throws IOException {
        Path file = write("{\"x\":{\"dtype\":\"F3\"}}".getBytes(StandardCharsets.UTF_8), new byte[0]);
        assertThatThrownBy(() -> Safetensors.open(file))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The type (F3) of tensor (x)");
    }

    @Test
    void sizesThatOverflowAreRefused() throws IOException {
        for (String tensor : new String[] {
            "{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,4]}",
            "{\"dtype\":\"F64\",\"shape\":[1152921504606846975],\"data_offsets\":[0,9223372036854775800]}",
            "{\"dtype\":\"U8\",\"shape\":[9223372036854775808],\"data_offsets\":[0,4]}",
            "{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[9223372036854775807,-9223372036854775805]}"
        }) {
            Path file = write(("{\"x\":" + tensor + "}").getBytes(StandardCharsets.UTF_8), new byte[4]);
            assertThatThrownBy(() -> Safetensors.open(file)).as(tensor).isInstanceOf(UserError.class);
        }
    }

    /** Whatever a byte or two of a file are, it is read or refused. */
    @Test
    void aFileWithChangedBytesIsReadOrRefused() throws IOException {
        byte[] header = ("{\"x\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]},"
                        + "\"y\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[4,12]}}")
                .getBytes(StandardCharsets.UTF_8);
        byte[] whole = Files.readAllBytes(write(header, new byte[12]));
        Random random = new Random(1);
        int refused = 0;
        for (int i = 0; i < 600; i++) {
            byte[] changed = whole.clone();
            for (int n = 0; n <= i % 3; n++) {
                String bytes = "0123456789-.eE{}[],:\" xnull";
                changed[random.nextInt(changed.length)] = (byte) bytes.charAt(random.nextInt(bytes.length()));
            }
            Path file = folder.resolve("c.safetensors");
            Files.write(file, changed);
            try {
                Safetensors read = Safetensors.open(file);
                read.tensors().keySet().forEach(read::literal);
            } catch (UserError e) {
                refused++;
            }
        }
        assertThat(refused).isBetween(200, 599);
    }

    @Test
    void aFileWithoutARealHeaderIsToldWithItsNumbers() throws IOException {
        Path file = folder.resolve("short.safetensors");
        Files.write(file, new byte[] {1, 2});
        assertThatThrownBy(() -> Safetensors.open(file))
                .isInstanceOf(UserError.class)
                .hasMessageContaining(
                        "The length (2 bytes) of safetensors file (" + file + ") must be at least 8 bytes");
        byte[] ones = new byte[64];
        Arrays.fill(ones, (byte) 0xff);
        Files.write(file, ones);
        assertThatThrownBy(() -> Safetensors.open(file))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The header's length (18446744073709551615)");
    }

    private Path write(byte[] header, byte[] data) throws IOException {
        ByteBuffer all = ByteBuffer.allocate(8 + header.length + data.length).order(ByteOrder.LITTLE_ENDIAN);
        all.putLong(header.length).put(header).put(data);
        Path file = folder.resolve("b.safetensors");
        Files.write(file, all.array());
        return file;
    }
}

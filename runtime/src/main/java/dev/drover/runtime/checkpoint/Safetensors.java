package dev.drover.runtime.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.wire.HostTensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The file format of tensors: eight bytes with the length of a JSON header, the header ({@code {"name": {"dtype": "F32", "shape": [2,3],
 * "data_offsets": [0,24]}}}), the elements. Tensors are written and read one by one, so that a file may be larger than the heap.
 */
public final class Safetensors {

    private static final Map<DType, String> NAME_BY_DTYPE = Map.ofEntries(
            Map.entry(DType.PRED, "BOOL"),
            Map.entry(DType.S8, "I8"),
            Map.entry(DType.S16, "I16"),
            Map.entry(DType.S32, "I32"),
            Map.entry(DType.S64, "I64"),
            Map.entry(DType.U8, "U8"),
            Map.entry(DType.U16, "U16"),
            Map.entry(DType.U32, "U32"),
            Map.entry(DType.U64, "U64"),
            Map.entry(DType.F8E4M3FN, "F8_E4M3"),
            Map.entry(DType.F8E5M2, "F8_E5M2"),
            Map.entry(DType.F16, "F16"),
            Map.entry(DType.BF16, "BF16"),
            Map.entry(DType.F32, "F32"),
            Map.entry(DType.F64, "F64"),
            Map.entry(DType.C64, "C64"));
    private static final int LENGTH_BYTES = 8;

    private Safetensors() {}

    // --- write ------------------------------------------------------------------------------------

    /**
     * Writes tensors; the file appears under its name only when it is complete.
     *
     * @param tensorByName called twice for each name, in order; only one tensor is held at a time
     */
    public static void write(Path file, Collection<String> names, Function<String, HostTensor> tensorByName) {
        byte[] header = header(names, tensorByName);
        Path unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            try (FileChannel out = FileChannel.open(
                    unfinished,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE)) {
                ByteBuffer start =
                        ByteBuffer.allocate(LENGTH_BYTES + header.length).order(ByteOrder.LITTLE_ENDIAN);
                writeFully(out, start.putLong(header.length).put(header).flip());
                for (String name : names) {
                    writeFully(out, tensorByName.apply(name).data());
                }
                out.force(true);
            }
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException("The file (" + file + ") must be writable: " + e.getMessage(), e);
        }
    }

    private static byte[] header(Collection<String> names, Function<String, HostTensor> tensorByName) {
        ObjectNode header = new ObjectMapper().createObjectNode();
        long offset = 0;
        for (String name : names) {
            ArrayShape shape = tensorByName.apply(name).shape();
            @Nullable String dtype = NAME_BY_DTYPE.get(shape.dtype());
            if (dtype == null) {
                throw new UserError("The type (" + shape.dtype().hloName() + ") of value (" + name
                        + ") must be one that safetensors files can hold.");
            }
            ObjectNode entry = header.putObject(name).put("dtype", dtype);
            for (long dim : shape.dims()) {
                entry.withArray("shape").add(dim);
            }
            if (shape.rank() == 0) {
                entry.putArray("shape");
            }
            entry.putArray("data_offsets").add(offset).add(offset + shape.sizeBytes());
            offset += shape.sizeBytes();
        }
        String text = header.toString();
        int padding = (LENGTH_BYTES - text.getBytes(StandardCharsets.UTF_8).length % LENGTH_BYTES) % LENGTH_BYTES;
        return (text + " ".repeat(padding)).getBytes(StandardCharsets.UTF_8);
    }

    private static void writeFully(FileChannel out, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            int unused = out.write(bytes);
        }
    }

    // --- read -------------------------------------------------------------------------------------

    /** Where the elements of a tensor are, from the start of the file. */
    public record Entry(ArrayShape shape, long position) {}

    /** What is in a file, in its order. */
    public static Map<String, Entry> entries(Path file) {
        try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            ByteBuffer length = read(in, 0, LENGTH_BYTES, file);
            long headerBytes = length.getLong(0);
            if (headerBytes < 2 || headerBytes > in.size() - LENGTH_BYTES) {
                throw broken(file);
            }
            ByteBuffer header = read(in, LENGTH_BYTES, headerBytes, file);
            JsonNode root = new ObjectMapper()
                    .readTree(StandardCharsets.UTF_8.decode(header).toString());
            Map<String, DType> dtypeByName = new HashMap<>();
            NAME_BY_DTYPE.forEach((dtype, name) -> dtypeByName.put(name, dtype));
            Map<String, Entry> entries = new LinkedHashMap<>();
            for (Map.Entry<String, JsonNode> field : root.properties()) {
                if (!field.getKey().equals("__metadata__")) {
                    JsonNode entry = field.getValue();
                    @Nullable DType dtype = dtypeByName.get(entry.path("dtype").asText());
                    if (dtype == null) {
                        throw broken(file);
                    }
                    long[] dims = new long[entry.path("shape").size()];
                    for (int i = 0; i < dims.length; i++) {
                        dims[i] = entry.path("shape").get(i).asLong();
                    }
                    long start = entry.path("data_offsets").path(0).asLong();
                    entries.put(
                            field.getKey(), new Entry(ArrayShape.of(dtype, dims), LENGTH_BYTES + headerBytes + start));
                }
            }
            return entries;
        } catch (IOException e) {
            throw new UserError(
                    "The file (" + file + ") must be a readable safetensors file: " + e.getMessage() + ".", e);
        }
    }

    public static HostTensor read(Path file, Entry entry) {
        try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            return new HostTensor(
                    entry.shape(), read(in, entry.position(), entry.shape().sizeBytes(), file));
        } catch (IOException e) {
            throw new UserError("The file (" + file + ") must be readable: " + e.getMessage() + ".", e);
        }
    }

    private static ByteBuffer read(FileChannel in, long position, long sizeBytes, Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(sizeBytes)).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            if (in.read(bytes, position + bytes.position()) < 0) {
                throw broken(file);
            }
        }
        return bytes.flip();
    }

    private static UserError broken(Path file) {
        return new UserError("The file (" + file + ") must be a complete safetensors file.");
    }
}

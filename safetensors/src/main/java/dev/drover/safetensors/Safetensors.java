package dev.drover.safetensors;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A safetensors file: 8 bytes with the header's length, a JSON header that gives each tensor's type, shape and place, then the
 * tensors, little-endian and row-major, without gaps. The header is read at once, tensors are mapped when asked for.
 *
 * @param tensors by name, in the order of the header
 * @param metadata the header's {@code __metadata__}
 */
public record Safetensors(Path file, Map<String, Tensor> tensors, Map<String, String> metadata) {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Tensors are read and written in pieces of so many bytes. */
    private static final int PIECE_BYTES = 16 << 20;
    /** What is read once and thrown away stays in the processor's caches. */
    private static final int READ_BYTES = 1 << 20;

    private static final int MAX_HEADER_BYTES = 100_000_000;
    private static final Map<String, DType> TYPES = types();

    /** Where what is written comes from. */
    @FunctionalInterface
    public interface Source {
        /** Of a tensor's elements, little-endian and row-major, the bytes from {@code offset} on, from position to limit. */
        ByteBuffer bytes(String name, long offset, int sizeBytes);
    }

    /** Where a tensor lies: {@code offset} in the file, {@code sizeBytes} long. */
    public record Tensor(ArrayShape shape, long offset, long sizeBytes) {}

    public Safetensors {
        tensors = Collections.unmodifiableMap(new LinkedHashMap<>(tensors));
        metadata = Collections.unmodifiableMap(new LinkedHashMap<>(metadata));
    }

    private static Map<String, DType> types() {
        Map<String, DType> types = new LinkedHashMap<>();
        types.put("BOOL", DType.PRED);
        types.put("I8", DType.S8);
        types.put("I16", DType.S16);
        types.put("I32", DType.S32);
        types.put("I64", DType.S64);
        types.put("U8", DType.U8);
        types.put("U16", DType.U16);
        types.put("U32", DType.U32);
        types.put("U64", DType.U64);
        types.put("F8_E4M3", DType.F8E4M3FN);
        types.put("F8_E5M2", DType.F8E5M2);
        types.put("F16", DType.F16);
        types.put("BF16", DType.BF16);
        types.put("F32", DType.F32);
        types.put("F64", DType.F64);
        types.put("C64", DType.C64);
        return Collections.unmodifiableMap(types);
    }

    /** Reads the header and checks it against the file's length. */
    public static Safetensors open(Path file) {
        try (FileChannel channel = FileChannel.open(file)) {
            long fileBytes = channel.size();
            ByteBuffer length = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
            readFully(channel, length, 0);
            if (fileBytes < 8) {
                throw wrong(
                        file, "length (" + fileBytes + " bytes)", "be at least 8 bytes, those of its header's length");
            }
            long headerBytes = length.getLong(0);
            if (headerBytes < 2 || headerBytes > Math.min(fileBytes - 8, MAX_HEADER_BYTES)) {
                throw wrong(
                        file,
                        "header's length (" + Long.toUnsignedString(headerBytes) + ")",
                        "fit the file's " + fileBytes + " bytes");
            }
            ByteBuffer header = ByteBuffer.allocate((int) headerBytes);
            readFully(channel, header, 8);
            JsonNode json = JSON.readTree(header.array());
            return parse(file, json, 8 + headerBytes, fileBytes);
        } catch (JsonProcessingException e) {
            throw wrong(file, "header", "be JSON");
        } catch (NoSuchFileException e) {
            throw new UserError("The file (" + file + ") must exist.", e);
        } catch (IOException e) {
            throw new UserError("The file (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }

    private static void readFully(FileChannel channel, ByteBuffer into, long position) throws IOException {
        long at = position;
        while (into.hasRemaining()) {
            int n = channel.read(into, at);
            if (n < 0) {
                return;
            }
            at += n;
        }
    }

    private static UserError wrong(Path file, String what, String must) {
        return new UserError("The " + what + " of safetensors file (" + file + ") must " + must + ".");
    }

    private static Safetensors parse(Path file, JsonNode header, long dataStart, long fileBytes) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<String, String> metadata = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> entry : header.properties()) {
            if (entry.getKey().equals("__metadata__")) {
                entry.getValue()
                        .properties()
                        .forEach(item ->
                                metadata.put(item.getKey(), item.getValue().asText()));
            } else {
                tensors.put(entry.getKey(), tensor(file, entry.getKey(), entry.getValue(), dataStart, fileBytes));
            }
        }
        return new Safetensors(file, tensors, metadata);
    }

    private static Tensor tensor(Path file, String name, JsonNode entry, long dataStart, long fileBytes) {
        String type = entry.path("dtype").asText();
        DType dtype = TYPES.get(type);
        if (dtype == null) {
            throw wrong(file, "type (" + type + ") of tensor (" + name + ")", "be one of " + TYPES.keySet());
        }
        JsonNode dims = entry.path("shape");
        long[] sizes = new long[dims.size()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = dims.get(i).asLong(-1);
        }
        if (!dims.isArray() || Arrays.stream(sizes).anyMatch(size -> size < 0)) {
            throw wrong(file, "shape (" + dims + ") of tensor (" + name + ")", "be a list of sizes");
        }
        ArrayShape shape;
        try {
            shape = ArrayShape.of(dtype, sizes);
        } catch (ArithmeticException e) {
            throw wrong(file, "shape (" + dims + ") of tensor (" + name + ")", "be one of fewer than 2^60 elements");
        }
        long from = entry.path("data_offsets").path(0).asLong(-1);
        long to = entry.path("data_offsets").path(1).asLong(-1);
        if (from < 0 || to < from || to - from != shape.sizeBytes() || to > fileBytes - dataStart) {
            throw wrong(
                    file,
                    "place (" + entry.path("data_offsets") + ") of tensor (" + name + ")",
                    "be " + shape.sizeBytes() + " bytes, as " + shape + " needs, inside the file's " + fileBytes);
        }
        return new Tensor(shape, dataStart + from, to - from);
    }

    /** A tensor's place; fails if there is none of that name. */
    public Tensor tensor(String name) {
        Tensor tensor = tensors.get(name);
        if (tensor == null) {
            throw wrong(
                    file,
                    "tensors (" + tensors.size() + ")",
                    "include (" + name + "), but they are " + tensors.keySet());
        }
        return tensor;
    }

    /** Bytes of a tensor, {@code sizeBytes} of them from its byte {@code offset} on, mapped read-only. */
    public ByteBuffer bytes(String name, long offset, int sizeBytes) {
        Tensor tensor = tensor(name);
        Objects.checkFromIndexSize(offset, sizeBytes, tensor.sizeBytes());
        try (FileChannel channel = FileChannel.open(file)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, tensor.offset() + offset, sizeBytes)
                    .order(ByteOrder.LITTLE_ENDIAN);
        } catch (IOException e) {
            throw new UserError("The file (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }

    /** Takes all bytes of a tensor in order, some at a time, from position to limit; they are valid during the call only. */
    public void read(String name, Consumer<ByteBuffer> into) {
        Tensor tensor = tensor(name);
        ByteBuffer buffer = ByteBuffer.allocateDirect((int) Math.min(READ_BYTES, tensor.sizeBytes()))
                .order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel channel = FileChannel.open(file)) {
            eachPiece(tensor.sizeBytes(), READ_BYTES, (offset, sizeBytes) -> {
                readFully(channel, buffer.clear().limit(sizeBytes), tensor.offset() + offset);
                if (buffer.hasRemaining()) {
                    throw wrong(file, "tensor (" + name + ")", "not end before its last byte");
                }
                into.accept(buffer.flip());
            });
        } catch (IOException e) {
            throw new UserError("The file (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }

    /** A tensor's values. */
    public Literal literal(String name) {
        return literal(name, PIECE_BYTES);
    }

    Literal literal(String name, int pieceBytes) {
        Tensor tensor = tensor(name);
        Literal literal = Literal.zeros(tensor.shape());
        int elementBytes = Math.toIntExact(tensor.shape().dtype().sizeBytes(1));
        eachPiece(
                tensor.sizeBytes(),
                pieceBytes,
                (offset, size) -> Bits.read(
                        bytes(name, offset, size),
                        literal,
                        Math.toIntExact(offset / elementBytes),
                        size / elementBytes));
        return literal;
    }

    /** What is done with a piece of a tensor. */
    private interface PieceAction<E extends Exception> {
        void accept(long offset, int sizeBytes) throws E;
    }

    private static <E extends Exception> void eachPiece(long sizeBytes, int pieceBytes, PieceAction<E> action)
            throws E {
        for (long offset = 0; offset < sizeBytes; offset += pieceBytes) {
            action.accept(offset, (int) Math.min(pieceBytes, sizeBytes - offset));
        }
    }

    /** Writes tensors in the map's order. */
    public static void write(Path file, Map<String, Literal> tensors, Map<String, String> metadata) {
        Map<String, ArrayShape> shapes = new LinkedHashMap<>();
        tensors.forEach((name, literal) -> shapes.put(name, literal.shape()));
        write(file, shapes, metadata, (name, offset, sizeBytes) -> {
            Literal literal = Objects.requireNonNull(tensors.get(name));
            int elementBytes = Math.toIntExact(literal.dtype().sizeBytes(1));
            ByteBuffer buffer = ByteBuffer.allocate(sizeBytes);
            Bits.write(literal, Math.toIntExact(offset / elementBytes), sizeBytes / elementBytes, buffer);
            return buffer.flip();
        });
    }

    /**
     * Writes tensors in the map's order, a piece at a time, so that a tensor may be larger than the heap. The header is padded so that
     * the data start at a multiple of 8; the file appears under its name only when it is complete.
     */
    public static void write(Path file, Map<String, ArrayShape> shapes, Map<String, String> metadata, Source source) {
        write(file, shapes, metadata, source, PIECE_BYTES);
    }

    static void write(
            Path file, Map<String, ArrayShape> shapes, Map<String, String> metadata, Source source, int pieceBytes) {
        byte[] text = header(shapes, metadata).toString().getBytes(StandardCharsets.UTF_8);
        byte[] padded = Arrays.copyOf(text, (text.length + 7) / 8 * 8);
        Arrays.fill(padded, text.length, padded.length, (byte) ' ');
        Path whole = file.toAbsolutePath();
        Path unfinished = whole.resolveSibling(whole.getFileName() + ".unfinished");
        try {
            Files.createDirectories(Objects.requireNonNull(whole.getParent()));
            try (FileChannel channel = FileChannel.open(
                    unfinished,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.TRUNCATE_EXISTING)) {
                ByteBuffer length = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
                writeFully(channel, length.putLong(0, padded.length));
                writeFully(channel, ByteBuffer.wrap(padded));
                for (Map.Entry<String, ArrayShape> entry : shapes.entrySet()) {
                    String name = entry.getKey();
                    eachPiece(
                            entry.getValue().sizeBytes(),
                            pieceBytes,
                            (offset, size) -> writeFully(channel, source.bytes(name, offset, size)));
                }
                channel.force(true);
            }
            Files.move(unfinished, whole, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UserError("The file (" + file + ") must be writable, but " + FileReason.of(e) + ".", e);
        }
    }

    private static ObjectNode header(Map<String, ArrayShape> shapes, Map<String, String> metadata) {
        ObjectNode header = JSON.createObjectNode();
        if (!metadata.isEmpty()) {
            ObjectNode node = header.putObject("__metadata__");
            metadata.forEach(node::put);
        }
        long at = 0;
        for (Map.Entry<String, ArrayShape> entry : shapes.entrySet()) {
            ArrayShape shape = entry.getValue();
            ObjectNode node = header.putObject(entry.getKey());
            node.put("dtype", typeName(entry.getKey(), shape.dtype()));
            ArrayNode dims = node.putArray("shape");
            for (long dim : shape.dims()) {
                dims.add(dim);
            }
            node.putArray("data_offsets").add(at).add(at + shape.sizeBytes());
            at += shape.sizeBytes();
        }
        return header;
    }

    private static void writeFully(FileChannel channel, ByteBuffer from) throws IOException {
        while (from.hasRemaining()) {
            channel.write(from);
        }
    }

    private static String typeName(String tensor, DType dtype) {
        @Nullable String name = null;
        for (Map.Entry<String, DType> entry : TYPES.entrySet()) {
            if (entry.getValue() == dtype) {
                name = entry.getKey();
            }
        }
        if (name == null) {
            throw new UserError("The type (" + dtype.hloName() + ") of tensor (" + tensor
                    + ") must be one that safetensors has: " + TYPES.keySet() + ".");
        }
        return name;
    }
}

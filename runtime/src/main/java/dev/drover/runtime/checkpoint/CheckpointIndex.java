package dev.drover.runtime.checkpoint;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.RecordText;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * What a checkpoint holds: {@code index.json} beside the safetensors files of the workers. Written last; a folder without it is no
 * checkpoint.
 *
 * @param version {@link #VERSION}, or 1, in which pieces have no checksums
 * @param step steps that were done
 * @param values by name of the training step's input
 */
public record CheckpointIndex(int version, long step, List<StoredValue> values) {

    public static final int VERSION = 2;
    private static final int WITHOUT_CHECKSUMS = 1;
    private static final String FILE = "index.json";
    private static final String FOLDER_PREFIX = "step-";

    /**
     * A state value.
     *
     * @param name of the input, the same under every plan
     * @param dtype HLO's name
     * @param dims of the whole value
     */
    public record StoredValue(String name, String dtype, List<Long> dims, List<Piece> pieces) {
        public StoredValue {
            if (DType.byHloName(dtype) == null) {
                throw new UserError("The dtype (" + dtype + ") must be one of HLO's, such as f32.");
            }
            if (dims.stream().anyMatch(dim -> dim < 0)) {
                throw new UserError("The dims (" + dims + ") must be at least 0.");
            }
            try {
                ArrayShape unused = shape(dtype, dims);
            } catch (ArithmeticException e) {
                throw new UserError("The dims (" + dims + ") must be those of a tensor, not so large.", e);
            }
        }

        /** Of the whole value. */
        public ArrayShape shape() {
            return shape(dtype, dims);
        }

        private static ArrayShape shape(String dtype, List<Long> dims) {
            return ArrayShape.of(
                    Objects.requireNonNull(DType.byHloName(dtype)),
                    dims.stream().mapToLong(Long::longValue).toArray());
        }
    }

    /**
     * A part of a value: tensor {@code tensor} of a file, at the cuts of a slice.
     *
     * @param crc32c the {@link Checksum} of its bytes; empty in an index without checksums
     */
    public record Piece(String file, String tensor, List<PieceCut> cuts, String crc32c) {
        public Piece {
            if (!crc32c.matches("([0-9a-f]{8})?")) {
                throw new UserError("The crc32c (" + crc32c + ") must be eight hexadecimal digits.");
            }
        }
    }

    /** As in a tensor slice: the units u of {@code dim} with {@code u / stride % parts == index}. */
    public record PieceCut(int dim, long stride, int parts, int index) {
        public PieceCut {
            if (dim < 0 || stride < 1 || index < 0 || index >= parts) {
                throw new UserError("The cut (part " + index + " of " + parts + " of dim " + dim + ", stride " + stride
                        + ") must be one that there is.");
            }
        }
    }

    public CheckpointIndex {
        if (version != WITHOUT_CHECKSUMS) {
            for (StoredValue value : values) {
                if (value.pieces().stream().anyMatch(piece -> piece.crc32c().isEmpty())) {
                    throw new UserError("The pieces of value (" + value.name() + ") must have checksums.");
                }
            }
        }
    }

    /** Whether damage to what is stored can be seen. */
    public boolean hasChecksums() {
        return version != WITHOUT_CHECKSUMS;
    }

    /** The folder of the checkpoint after a step. */
    public static Path folder(Path root, long step) {
        return root.resolve(FOLDER_PREFIX + String.format("%09d", step));
    }

    /** The newest complete checkpoint in a folder, else the folder itself if it is one. */
    public static Path find(Path root) {
        try {
            return newest(root, folder -> true)
                    .or(() -> Optional.of(root).filter(f -> Files.exists(f.resolve(FILE))))
                    .orElseThrow(() -> new UserError(
                            "The folder (" + root + ") must hold a checkpoint.",
                            "Maybe take a new or empty folder to begin anew."));
        } catch (IOException e) {
            throw new UserError("The folder (" + root + ") must hold a checkpoint.", e);
        }
    }

    /** The newest complete checkpoint beside another one that is older than that. */
    static Optional<Path> before(Path folder) {
        Path whole = folder.toAbsolutePath();
        Path root = whole.getParent();
        try {
            return root == null ? Optional.empty() : newest(root, other -> other.compareTo(whole) < 0);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<Path> newest(Path root, Predicate<Path> which) throws IOException {
        try (Stream<Path> folders = Files.list(root)) {
            return folders.filter(f -> f.getFileName().toString().startsWith(FOLDER_PREFIX))
                    .filter(which)
                    .filter(f -> Files.exists(f.resolve(FILE)))
                    .max(Path::compareTo);
        }
    }

    public void write(Path folder) {
        try {
            Files.createDirectories(folder);
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            Path unfinished = folder.resolve(FILE + ".unfinished");
            try (FileChannel channel = FileChannel.open(
                    unfinished,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.TRUNCATE_EXISTING)) {
                ByteBuffer bytes = ByteBuffer.wrap(mapper.writeValueAsBytes(this));
                while (bytes.hasRemaining()) {
                    channel.write(bytes);
                }
                channel.force(true);
            }
            Files.move(unfinished, folder.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UserError("The folder (" + folder + ") must be writable, but " + FileReason.of(e) + ".", e);
        }
    }

    /** Takes away the files of a checkpoint that could not be finished, so that they fill no disk; other files stay. */
    public static void removeUnfinished(Path folder) {
        if (!Files.isDirectory(folder) || Files.exists(folder.resolve(FILE))) {
            return;
        }
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                if (file.getFileName().toString().matches("(rank-[0-9]+\\.safetensors|index\\.json)(\\.unfinished)?")) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        } catch (IOException e) {
            // What cannot be taken away stays; a folder without an index is no checkpoint.
            return;
        }
    }

    public static CheckpointIndex read(Path folder) {
        Path file = folder.resolve(FILE);
        try {
            RecordText read =
                    RecordText.parse(new ObjectMapper(), Files.readString(file), "checkpoint's index", file.toString());
            int version = read.tree().path("version").asInt(VERSION);
            if (version != VERSION && version != WITHOUT_CHECKSUMS) {
                throw new UserError(
                        "The version (" + version + ") of checkpoint (" + folder + ") must be " + WITHOUT_CHECKSUMS
                                + " or " + VERSION + ".",
                        "Maybe it was written by a newer Drover.");
            }
            if (version == WITHOUT_CHECKSUMS) {
                withoutChecksums(read.tree());
            }
            return read.to(CheckpointIndex.class, Set.of());
        } catch (IOException e) {
            throw new UserError(
                    "The checkpoint's index (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }

    private static void withoutChecksums(JsonNode index) {
        for (JsonNode value : index.path("values")) {
            for (JsonNode piece : value.path("pieces")) {
                if (piece instanceof ObjectNode node) {
                    node.put("crc32c", "");
                }
            }
        }
    }
}

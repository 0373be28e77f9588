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
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a checkpoint holds: {@code index.json} beside the safetensors files of the workers. Written last; a folder without it is no
 * checkpoint. The last line of the file is the {@link Checksum} of all that stands before it:
 *
 * <pre>
 *   {
 *     "version" : 3,
 *     ..
 *     "values" : [ .. ],
 *     "indexCrc32c" : "89abcdef"
 *   }
 * </pre>
 *
 * @param version {@link #VERSION}; 2, in which the index has no checksum of its own; or 1, in which pieces have none either
 * @param step steps that were done
 * @param values by name of the training step's input
 */
public record CheckpointIndex(int version, long step, List<StoredValue> values) {

    public static final int VERSION = 3;
    private static final int WITHOUT_CHECKSUMS = 1;
    private static final String FILE = "index.json";
    private static final String FOLDER_PREFIX = "step-";
    /** Letter by letter, so that no change of it goes unseen. */
    private static final String END = ",\n  \"indexCrc32c\" : \"%s\"\n}\n";

    private static final Pattern SIGNED =
            Pattern.compile("(?s)(.*)" + Pattern.quote(END).replace("%s", "\\E([0-9a-f]{8})\\Q"));
    private static final Pattern VERSION_KEY = Pattern.compile("\"version\"\\s*:\\s*([0-9]{1,9})\\b");

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
                ByteBuffer bytes =
                        ByteBuffer.wrap(signed(mapper.writeValueAsString(this)).getBytes(StandardCharsets.UTF_8));
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

    /** An index with its own checksum at the end. */
    static String signed(String json) {
        String body = json.substring(0, json.lastIndexOf('}')).stripTrailing();
        return body + END.formatted(Checksum.of(body.getBytes(StandardCharsets.UTF_8)));
    }

    /** Reads the index of a checkpoint. Fails with {@link UserError} where it was changed since it was written. */
    public static CheckpointIndex read(Path folder) {
        Path file = folder.resolve(FILE);
        String text;
        try {
            // One letter a byte: damage need not be UTF-8.
            text = Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new UserError(
                    "The checkpoint's index (" + file + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
        Matcher signed = SIGNED.matcher(text);
        boolean isSigned = signed.matches();
        if (isSigned) {
            checkSum(folder, signed.group(2), Checksum.of(signed.group(1).getBytes(StandardCharsets.ISO_8859_1)));
        }
        Matcher key = VERSION_KEY.matcher(text);
        int version = key.find() ? Integer.parseInt(key.group(1)) : VERSION;
        if (version < WITHOUT_CHECKSUMS || version > VERSION) {
            throw new UserError(
                    "The version (" + version + ") of checkpoint (" + folder + ") must be between " + WITHOUT_CHECKSUMS
                            + " and " + VERSION + ".",
                    "Maybe it was written by a newer Drover.");
        }
        if (version == VERSION && !isSigned) {
            checkSum(folder, "none", "");
        }
        String json = isSigned ? signed.group(1) + "}" : text;
        RecordText read = RecordText.parse(
                new ObjectMapper(),
                new String(json.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8),
                "checkpoint's index",
                file.toString());
        if (version == WITHOUT_CHECKSUMS) {
            withoutChecksums(read.tree());
        }
        return read.to(CheckpointIndex.class, Set.of());
    }

    private static void checkSum(Path folder, String written, String actual) {
        if (!written.equals(actual)) {
            throw new UserError(
                    "The checksum (" + written + ") at the end of the checkpoint's index (" + folder.resolve(FILE)
                            + ") must be the CRC-32C of what is before it, which was changed or damaged after it was"
                            + " saved.",
                    advice(folder));
        }
    }

    /** What to do about a checkpoint that is not as it was saved. */
    static String advice(Path folder) {
        return "Maybe it was changed after it was saved; copy the files again from where they are whole"
                + before(folder)
                        .map(older -> ", or move that folder away to go on from " + older.getFileName())
                        .orElse("")
                + ".";
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

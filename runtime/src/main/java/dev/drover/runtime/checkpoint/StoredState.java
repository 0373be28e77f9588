package dev.drover.runtime.checkpoint;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.TensorSlice;
import dev.drover.runtime.checkpoint.CheckpointIndex.Piece;
import dev.drover.runtime.checkpoint.CheckpointIndex.StoredValue;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.safetensors.Safetensors;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * A checkpoint that is whole and of a certain model: each of the model's state values is there in pieces that cover it, in files that
 * hold them, with the bytes that were written. All that is checked before a value is read, so that nothing is left zero.
 *
 * @param step steps that were done
 * @param hasChecksums false for one of an older Drover, of which damage to the bytes is not seen
 * @param valueByName what was stored, by name of the training step's input
 */
public record StoredState(Path folder, long step, boolean hasChecksums, Map<String, StoredValue> valueByName) {
    private static final int MOST_PROBLEMS = 3;

    public StoredState {
        valueByName = Collections.unmodifiableMap(new LinkedHashMap<>(valueByName));
    }

    /**
     * Reads the index of a checkpoint and checks what it names, all bytes included. Fails with {@link UserError} if anything is missing
     * or was changed.
     *
     * @param root a checkpoint, or a folder with some, of which the newest is taken
     * @param shapeByName the state values that a model needs
     */
    public static StoredState open(Path root, Map<String, ArrayShape> shapeByName) {
        Path folder = CheckpointIndex.find(root);
        CheckpointIndex index = CheckpointIndex.read(folder);
        Map<String, StoredValue> values = new LinkedHashMap<>();
        for (StoredValue value : index.values()) {
            if (values.put(value.name(), value) != null) {
                throw wrong(folder, "value (" + value.name() + ")", "be there once");
            }
        }
        checkModel(folder, values, shapeByName);
        Map<String, Safetensors> files = new HashMap<>();
        Map<List<String>, String> nameByTensor = new HashMap<>();
        for (StoredValue value : values.values()) {
            for (Piece piece : value.pieces()) {
                String other = nameByTensor.put(List.of(piece.file(), piece.tensor()), value.name());
                if (other != null) {
                    throw wrong(
                            folder,
                            "tensor (" + piece.tensor() + ") of file (" + piece.file() + ")",
                            "be one piece, but is one of " + other
                                    + (other.equals(value.name()) ? " twice" : " and one of " + value.name()));
                }
            }
            checkPieces(folder, value, values.values(), files);
        }
        if (index.hasChecksums()) {
            checkBytes(folder, values.values(), files);
        }
        return new StoredState(folder, index.step(), index.hasChecksums(), values);
    }

    private static void checkBytes(Path folder, Collection<StoredValue> values, Map<String, Safetensors> files) {
        List<String> problems = new ArrayList<>();
        for (StoredValue value : values) {
            for (Piece piece : value.pieces()) {
                Checksum sum = new Checksum();
                file(folder, piece, values, files).read(piece.tensor(), sum::add);
                if (!sum.text().equals(piece.crc32c())) {
                    problems.add("tensor " + piece.tensor() + " of file " + piece.file() + " (" + value.name() + ", "
                            + sum.text() + " instead of " + piece.crc32c() + ")");
                }
            }
        }
        if (!problems.isEmpty()) {
            throw new UserError(
                    "The checksums (CRC-32C) of checkpoint (" + folder
                            + ") must be those of its bytes, which were changed or damaged after they were saved: "
                            + firstOf(problems) + ".",
                    CheckpointIndex.advice(folder));
        }
    }

    private static Safetensors file(
            Path folder, Piece piece, Collection<StoredValue> all, Map<String, Safetensors> files) {
        try {
            return files.computeIfAbsent(piece.file(), name -> Safetensors.open(folder.resolve(name)));
        } catch (UserError e) {
            throw new UserError(
                    withValues(String.valueOf(e.getMessage()), piece.file(), all), CheckpointIndex.advice(folder));
        }
    }

    /** A message about a file, with the values that people know its tensors by. */
    private static String withValues(String message, String file, Collection<StoredValue> all) {
        String told = message;
        for (StoredValue value : all) {
            for (Piece piece : value.pieces()) {
                if (piece.file().equals(file)) {
                    told = told.replace(
                            "tensor (" + piece.tensor() + ")",
                            "tensor (" + piece.tensor() + ", of " + value.name() + ")");
                }
            }
        }
        return told;
    }

    private static String firstOf(List<String> problems) {
        int told = Math.min(problems.size(), MOST_PROBLEMS);
        return String.join(", ", problems.subList(0, told))
                + (told < problems.size() ? ", and " + (problems.size() - told) + " more" : "");
    }

    private static void checkModel(Path folder, Map<String, StoredValue> values, Map<String, ArrayShape> shapeByName) {
        List<String> problems = new ArrayList<>();
        new TreeMap<>(shapeByName).forEach((name, shape) -> {
            StoredValue value = values.get(name);
            if (value == null) {
                problems.add(name + " is missing");
            } else if (!value.shape().equals(shape)) {
                problems.add(name + " is " + value.shape() + ", not " + shape);
            }
        });
        values.keySet().stream()
                .filter(name -> !shapeByName.containsKey(name))
                .forEach(name -> problems.add(name + " is unknown to the model"));
        if (!problems.isEmpty()) {
            throw new UserError(
                    "The checkpoint (" + folder + ") must be of this model: " + firstOf(problems) + ".",
                    "Maybe it was written by another model or other sizes, or take another folder.");
        }
    }

    /** The pieces that are cut alike must be all that there are of them, for one way of cutting at least. */
    private static void checkPieces(
            Path folder, StoredValue value, Collection<StoredValue> all, Map<String, Safetensors> files) {
        ArrayShape whole = value.shape();
        Map<List<Long>, Set<List<Integer>>> placesByCuts = new LinkedHashMap<>();
        for (Piece piece : value.pieces()) {
            List<Long> cuts = new ArrayList<>();
            List<Integer> place = new ArrayList<>();
            for (CheckpointIndex.PieceCut cut : piece.cuts()) {
                if (cut.dim() >= whole.rank()) {
                    throw wrong(
                            folder,
                            "cut dim (" + cut.dim() + ") of value (" + value.name() + ")",
                            "be one of " + whole);
                }
                Collections.addAll(cuts, (long) cut.dim(), cut.stride(), (long) cut.parts());
                place.add(cut.index());
            }
            placesByCuts.computeIfAbsent(cuts, c -> new HashSet<>()).add(place);
            Safetensors file = file(folder, piece, all, files);
            ArrayShape stored = file.tensor(piece.tensor()).shape();
            ArrayShape local = slice(piece, whole).local();
            if (!stored.equals(local)) {
                throw wrong(
                        folder,
                        "tensor (" + piece.tensor() + ") of file (" + piece.file() + ")",
                        "be " + local + ", a piece of " + value.name() + ", but is " + stored);
            }
        }
        boolean covered = placesByCuts.entrySet().stream()
                .anyMatch(entry -> entry.getValue().size() == parts(entry.getKey()));
        if (!covered) {
            throw wrong(folder, "pieces (" + value.pieces().size() + ") of value (" + value.name() + ")", "cover it");
        }
    }

    /** How many pieces cuts make. */
    private static long parts(List<Long> cuts) {
        long parts = 1;
        for (int i = 2; i < cuts.size(); i += 3) {
            parts *= cuts.get(i);
        }
        return parts;
    }

    private static UserError wrong(Path folder, String what, String must) {
        return new UserError(
                "The " + what + " in checkpoint (" + folder + ") must " + must + ".", CheckpointIndex.advice(folder));
    }

    private static TensorSlice slice(Piece piece, ArrayShape whole) {
        return new TensorSlice(
                whole,
                piece.cuts().stream()
                        .map(cut -> new TensorSlice.Cut(cut.dim(), cut.stride(), cut.parts(), cut.index()))
                        .toList());
    }

    private StoredValue stored(String name) {
        StoredValue value = valueByName.get(name);
        if (value == null) {
            throw new IllegalArgumentException("The value (" + name + ") must be in the checkpoint.");
        }
        return value;
    }

    /**
     * The elements of slices of a value. It is read as a whole only for those that are cut in another way than it was, and once for all of
     * them.
     */
    public Function<TensorSlice, TensorBytes> parts(String name) {
        StoredValue value = stored(name);
        List<Literal> whole = new ArrayList<>();
        return slice -> {
            for (Piece piece : value.pieces()) {
                if (slice(piece, value.shape()).equals(slice)) {
                    Safetensors file = Safetensors.open(folder.resolve(piece.file()));
                    return (offset, sizeBytes) -> file.bytes(piece.tensor(), offset, sizeBytes);
                }
            }
            if (whole.isEmpty()) {
                whole.add(value(name));
            }
            return TensorBytes.of(slice.cuts().isEmpty() ? whole.get(0) : slice.extract(whole.get(0)));
        };
    }

    /** A whole value, put together from its pieces. */
    public Literal value(String name) {
        StoredValue value = stored(name);
        Literal whole = Literal.zeros(value.shape());
        for (Piece piece : value.pieces()) {
            Literal part = Safetensors.open(folder.resolve(piece.file())).literal(piece.tensor());
            if (piece.cuts().isEmpty()) {
                return part;
            }
            slice(piece, value.shape()).insert(part, whole);
        }
        return whole;
    }
}

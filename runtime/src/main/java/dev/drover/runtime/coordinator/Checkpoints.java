package dev.drover.runtime.coordinator;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.checkpoint.CheckpointIndex;
import dev.drover.runtime.checkpoint.CheckpointIndex.Piece;
import dev.drover.runtime.checkpoint.CheckpointIndex.PieceCut;
import dev.drover.runtime.checkpoint.CheckpointIndex.StoredValue;
import dev.drover.safetensors.Safetensors;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * Saves and restores the state of an execution. Each worker writes its slices to its own file, one of them where several hold the
 * same; what is read is put together and cut anew, so that a checkpoint fits every plan of the same model.
 */
final class Checkpoints {

    private Checkpoints() {}

    /**
     * Saves into a new folder under {@code root}, and returns it.
     *
     * @param inputNames names of the training step's inputs, by number
     */
    static Path save(Cluster cluster, ExecutionPlan plan, List<String> inputNames, Path root, long step) {
        Path folder = CheckpointIndex.folder(root.toAbsolutePath(), step);
        Map<Integer, Map<TensorSlice, Piece>> piecesByInput = new TreeMap<>();
        Map<Integer, List<String>> namesByRank = new TreeMap<>();
        for (WorkerPlan worker : plan.workers()) {
            for (Feed feed : worker.feeds()) {
                if (feed.persistent()) {
                    Map<TensorSlice, Piece> pieces =
                            piecesByInput.computeIfAbsent(feed.input(), i -> new LinkedHashMap<>());
                    if (!pieces.containsKey(feed.slice())) {
                        String tensor = "input:" + feed.input();
                        String file = "rank-" + worker.rank() + ".safetensors";
                        pieces.put(feed.slice(), new Piece(file, tensor, cuts(feed.slice())));
                        namesByRank
                                .computeIfAbsent(worker.rank(), r -> new ArrayList<>())
                                .add(tensor);
                    }
                }
            }
        }
        cluster.save(namesByRank, rank -> folder.resolve("rank-" + rank + ".safetensors"));
        List<StoredValue> values = new ArrayList<>();
        piecesByInput.forEach((input, pieces) -> {
            ArrayShape whole = pieces.keySet().iterator().next().whole();
            List<Long> dims = new ArrayList<>();
            for (long dim : whole.dims()) {
                dims.add(dim);
            }
            values.add(new StoredValue(
                    inputNames.get(input), whole.dtype().hloName(), dims, List.copyOf(pieces.values())));
        });
        new CheckpointIndex(CheckpointIndex.VERSION, step, values).write(folder);
        return folder;
    }

    private static List<PieceCut> cuts(TensorSlice slice) {
        return slice.cuts().stream()
                .map(cut -> new PieceCut(cut.dim(), cut.stride(), cut.parts(), cut.index()))
                .toList();
    }

    /** Restores all state inputs from a folder, and returns the step after which it was saved. */
    static long restore(
            Execution execution, Map<Integer, ArrayShape> shapeByInput, List<String> inputNames, Path folder) {
        CheckpointIndex index = CheckpointIndex.read(folder);
        Map<String, StoredValue> valueByName = new LinkedHashMap<>();
        index.values().forEach(value -> valueByName.put(value.name(), value));
        List<String> problems = new ArrayList<>();
        shapeByInput.forEach((input, shape) -> {
            StoredValue value = valueByName.get(inputNames.get(input));
            if (value == null) {
                problems.add(inputNames.get(input) + " is missing");
            } else if (!shape(value).equals(shape)) {
                problems.add(inputNames.get(input) + " is " + shape(value) + ", not " + shape);
            }
        });
        Set<String> known = new HashSet<>();
        shapeByInput.keySet().forEach(input -> known.add(inputNames.get(input)));
        valueByName.keySet().stream()
                .filter(name -> !known.contains(name))
                .forEach(name -> problems.add(name + " is unknown to the model"));
        if (!problems.isEmpty()) {
            throw new UserError(
                    "The checkpoint (" + folder + ") must be of this model: " + String.join(", ", problems) + ".",
                    "Maybe it was written by another model or other sizes.");
        }
        shapeByInput.forEach((input, shape) -> execution.setState(
                input, whole(folder, Objects.requireNonNull(valueByName.get(inputNames.get(input))), shape)));
        return index.step();
    }

    private static ArrayShape shape(StoredValue value) {
        long[] dims = value.dims().stream().mapToLong(Long::longValue).toArray();
        return ArrayShape.of(Objects.requireNonNull(DType.byHloName(value.dtype()), value.dtype()), dims);
    }

    private static Literal whole(Path folder, StoredValue value, ArrayShape shape) {
        Literal whole = Literal.zeros(shape);
        for (Piece piece : value.pieces()) {
            Path file = folder.resolve(piece.file());
            Literal part = Safetensors.open(file).literal(piece.tensor());
            List<TensorSlice.Cut> cuts = piece.cuts().stream()
                    .map(cut -> new TensorSlice.Cut(cut.dim(), cut.stride(), cut.parts(), cut.index()))
                    .toList();
            new TensorSlice(shape, cuts).insert(part, whole);
        }
        return whole;
    }
}

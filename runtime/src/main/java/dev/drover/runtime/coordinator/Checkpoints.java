package dev.drover.runtime.coordinator;

import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.checkpoint.CheckpointIndex;
import dev.drover.runtime.checkpoint.CheckpointIndex.Piece;
import dev.drover.runtime.checkpoint.CheckpointIndex.PieceCut;
import dev.drover.runtime.checkpoint.CheckpointIndex.StoredValue;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Saves the state of an execution. Each worker writes its slices to its own file, one of them where several hold the same; what is
 * read ({@link dev.drover.runtime.checkpoint.StoredState}) is put together and cut anew, so that a checkpoint fits every plan of the
 * same model.
 */
final class Checkpoints {

    private Checkpoints() {}

    /**
     * Saves into a new folder under {@code root}, and returns it. Fails with {@link UserError} if it cannot be written, such as where the
     * disk is full; what was written of it is taken away then.
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
                        String tensor = feed.wireName();
                        String file = "rank-" + worker.rank() + ".safetensors";
                        pieces.put(feed.slice(), new Piece(file, tensor, cuts(feed.slice())));
                        namesByRank
                                .computeIfAbsent(worker.rank(), r -> new ArrayList<>())
                                .add(tensor);
                    }
                }
            }
        }
        try {
            cluster.save(namesByRank, rank -> folder.resolve("rank-" + rank + ".safetensors"));
            new CheckpointIndex(CheckpointIndex.VERSION, step, values(piecesByInput, inputNames)).write(folder);
        } catch (UserError e) {
            CheckpointIndex.removeUnfinished(folder);
            throw new UserError(
                    "The state of step " + step + " must be saved, but: " + e.getMessage(),
                    "Maybe make room and train again: the checkpoints before it are whole.");
        }
        return folder;
    }

    private static List<StoredValue> values(
            Map<Integer, Map<TensorSlice, Piece>> piecesByInput, List<String> inputNames) {
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
        return values;
    }

    private static List<PieceCut> cuts(TensorSlice slice) {
        return slice.cuts().stream()
                .map(cut -> new PieceCut(cut.dim(), cut.stride(), cut.parts(), cut.index()))
                .toList();
    }
}

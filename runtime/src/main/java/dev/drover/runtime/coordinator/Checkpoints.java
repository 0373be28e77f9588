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
import dev.drover.runtime.checkpoint.Room;
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
     * disk is full; what was written of it is taken away then, and the workers can go on.
     *
     * @param inputNames names of the training step's inputs, by number
     */
    static Path save(Cluster cluster, ExecutionPlan plan, List<String> inputNames, Path root, long step) {
        Path folder = CheckpointIndex.folder(root.toAbsolutePath(), step);
        Map<Integer, Map<TensorSlice, Owned>> ownedByInput = new TreeMap<>();
        Map<Integer, List<String>> namesByRank = new TreeMap<>();
        long bytes = 0;
        for (WorkerPlan worker : plan.workers()) {
            for (Feed feed : worker.feeds()) {
                if (feed.persistent()) {
                    Map<TensorSlice, Owned> owned =
                            ownedByInput.computeIfAbsent(feed.input(), i -> new LinkedHashMap<>());
                    if (owned.putIfAbsent(feed.slice(), new Owned(worker.rank(), feed.wireName())) == null) {
                        namesByRank
                                .computeIfAbsent(worker.rank(), r -> new ArrayList<>())
                                .add(feed.wireName());
                        bytes += feed.slice().local().sizeBytes();
                    }
                }
            }
        }
        try {
            Room.check(folder, bytes);
            Map<Integer, Map<String, String>> checksums =
                    cluster.save(namesByRank, rank -> folder.resolve(Owned.file(rank)));
            new CheckpointIndex(CheckpointIndex.VERSION, step, values(ownedByInput, inputNames, checksums))
                    .write(folder);
        } catch (UserError e) {
            CheckpointIndex.removeUnfinished(folder);
            throw new UserError(
                    "The state of step " + step + " must be saved, but: " + e.getMessage()
                            + Room.missing(folder, bytes),
                    "Maybe make room: the checkpoints before it are whole.");
        }
        return folder;
    }

    /** Who writes a slice. */
    private record Owned(int rank, String tensor) {
        static String file(int rank) {
            return "rank-" + rank + ".safetensors";
        }

        Piece piece(TensorSlice slice, Map<Integer, Map<String, String>> checksums) {
            String checksum = checksums.getOrDefault(rank, Map.of()).get(tensor);
            if (checksum == null) {
                throw new IllegalStateException(
                        "The value (" + tensor + ") of rank " + rank + " must have a checksum.");
            }
            return new Piece(file(rank), tensor, cuts(slice), checksum);
        }
    }

    private static List<StoredValue> values(
            Map<Integer, Map<TensorSlice, Owned>> ownedByInput,
            List<String> inputNames,
            Map<Integer, Map<String, String>> checksums) {
        List<StoredValue> values = new ArrayList<>();
        ownedByInput.forEach((input, owned) -> {
            ArrayShape whole = owned.keySet().iterator().next().whole();
            List<Long> dims = new ArrayList<>();
            for (long dim : whole.dims()) {
                dims.add(dim);
            }
            List<Piece> pieces = new ArrayList<>();
            owned.forEach((slice, by) -> pieces.add(by.piece(slice, checksums)));
            values.add(new StoredValue(inputNames.get(input), whole.dtype().hloName(), dims, pieces));
        });
        return values;
    }

    private static List<PieceCut> cuts(TensorSlice slice) {
        return slice.cuts().stream()
                .map(cut -> new PieceCut(cut.dim(), cut.stride(), cut.parts(), cut.index()))
                .toList();
    }
}

package dev.drover.plan.task;

import java.util.List;

/**
 * What one worker does in every step.
 *
 * @param rank among all workers
 * @param stage its stage
 * @param meshRanks the ranks of the stage's devices, in the order of the mesh; {@code rank} is among them
 */
public record WorkerPlan(
        int rank, int stage, List<Integer> meshRanks, List<Feed> feeds, List<Task> tasks, List<Fetch> fetches) {
    public WorkerPlan {
        meshRanks = List.copyOf(meshRanks);
        feeds = List.copyOf(feeds);
        tasks = List.copyOf(tasks);
        fetches = List.copyOf(fetches);
    }

    /** This worker's number in its stage's mesh; -1 if it is not one of its ranks. */
    public int device() {
        // Ranks mostly follow each other, and there may be very many.
        int inOrder = rank - meshRanks.get(0);
        boolean found = inOrder >= 0 && inOrder < meshRanks.size() && meshRanks.get(inOrder) == rank;
        return found ? inOrder : meshRanks.indexOf(rank);
    }
}

package dev.drover.planner.search;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a search may choose from. Null leaves the choice to the search.
 *
 * @param stages pipeline stages
 * @param mesh sizes of the axes of each stage's mesh
 * @param microBatches micro-batches of a step
 * @param schedule name of a schedule kind
 * @param timeoutSeconds after which no further candidate is begun; at least one is always finished
 * @param seed of the strategy solver
 */
public record SearchOptions(
        @Nullable Integer stages,
        @Nullable List<Integer> mesh,
        @Nullable Integer microBatches,
        @Nullable String schedule,
        double timeoutSeconds,
        long seed) {
    /** Everything is open; 60 seconds. */
    public static final SearchOptions OPEN = new SearchOptions(null, null, null, null, 60, 1);

    public SearchOptions withStages(int number) {
        return new SearchOptions(number, mesh, microBatches, schedule, timeoutSeconds, seed);
    }

    public SearchOptions withMesh(List<Integer> sizes) {
        return new SearchOptions(stages, List.copyOf(sizes), microBatches, schedule, timeoutSeconds, seed);
    }

    public SearchOptions withMicroBatches(int number) {
        return new SearchOptions(stages, mesh, number, schedule, timeoutSeconds, seed);
    }

    public SearchOptions withSchedule(String name) {
        return new SearchOptions(stages, mesh, microBatches, name, timeoutSeconds, seed);
    }

    public SearchOptions withTimeoutSeconds(double seconds) {
        return new SearchOptions(stages, mesh, microBatches, schedule, seconds, seed);
    }
}

package dev.drover.runtime.comm;

import java.util.List;

/** All communicators of one worker: made and checked before the first step, held until the end. */
public interface Communicators extends AutoCloseable {

    /** This worker's rank among all. */
    int rank();

    /** The communicator of all workers. */
    Communicator world();

    /**
     * The communicator of an ordered group of global ranks that this worker belongs to.
     *
     * @throws IllegalArgumentException when the group was not announced at the start
     */
    Communicator group(List<Integer> ranks);

    /**
     * Makes more groups, while all their other members do the same; those that exist already, and those without this worker, are
     * left out.
     */
    void add(List<List<Integer>> groups);

    @Override
    void close();
}

package dev.drover.runtime.comm;

import dev.drover.ir.ops.Reduction;
import java.util.List;

/**
 * Collectives and transfers among an ordered group of workers. Buffers are flat and dense; who cuts a dim other than the first
 * rearranges elements before and after.
 *
 * <p>Collectives are started and awaited, so that their user computes meanwhile; several may be under way. All members start the same
 * collectives in the same order and await them in the same order, each from one thread at a time; transfers may run at the same time
 * in other threads. Sums are made in an order that depends on nothing but group size and buffer length: equal input gives equal
 * bits, and all members get the same bits.
 *
 * <p>Every method throws {@link PeerFailure} when a member is gone or does not answer in time; the communicator is dead then.
 */
public interface Communicator {

    /** Global ranks of the members; an index into it is a <em>member number</em>. */
    List<Integer> ranks();

    /** This worker's member number. */
    int self();

    default int size() {
        return ranks().size();
    }

    /**
     * Starts to combine the buffers of all members element by element; in place.
     *
     * @param scratch of the same element type, as large as the backend says; its elements are lost
     */
    Transfer allReduce(Buffer buffer, Reduction reduction, Buffer scratch);

    /**
     * Starts to concatenate the inputs of all members in order.
     *
     * @param input {@code counts[self]} elements
     * @param output the sum of {@code counts}
     */
    Transfer allGather(Buffer input, Buffer output, long[] counts);

    /**
     * Starts to combine the inputs; piece {@code i} of the result is left with member {@code i}.
     *
     * @param input the sum of {@code counts} elements
     * @param output {@code counts[self]} elements
     * @param scratch of the same element type, as large as the backend says; its elements are lost
     */
    Transfer reduceScatter(Buffer input, Buffer output, long[] counts, Reduction reduction, Buffer scratch);

    /** Starts to send piece {@code i} of the input to member {@code i}; the output gets the pieces received, in the order of members. */
    Transfer allToAll(Buffer input, Buffer output, long[] inputCounts, long[] outputCounts);

    /** Copies the buffer of member {@code root} to all. */
    void broadcast(Buffer buffer, int root);

    /** Starts to send; {@code tag} (not negative, below 2^30) pairs it with a receive. Equal tags pair in order. */
    Transfer send(Buffer buffer, int member, int tag);

    /** Starts to receive. */
    Transfer receive(Buffer buffer, int member, int tag);

    void barrier();

    /** Counts for pieces as equal as possible: the first pieces are one longer where {@code elements} does not divide. */
    static long[] evenCounts(long elements, int pieces) {
        long[] counts = new long[pieces];
        for (int i = 0; i < pieces; i++) {
            counts[i] = elements / pieces + (i < elements % pieces ? 1 : 0);
        }
        return counts;
    }
}

package dev.drover.plan.memory;

import java.util.Set;

/**
 * Memory that one program needs beside its inputs and outputs.
 *
 * @param poolBytes while it runs: temporaries and the scratch of its collectives
 * @param constantBytes as long as it is loaded
 * @param donationsKept outputs that take over the memory of the input that is donated for them
 */
public record ProgramFootprint(long poolBytes, long constantBytes, Set<Integer> donationsKept) {
    public ProgramFootprint {
        donationsKept = Set.copyOf(donationsKept);
    }
}

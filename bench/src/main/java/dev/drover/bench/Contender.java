package dev.drover.bench;

import java.io.IOException;

/** One that trains the same model as the others of a race, a step when it is told to. */
interface Contender extends AutoCloseable {
    /** What a step took: on the wall, and of processors in all its processes. */
    record Turn(double wallMillis, double cpuMillis) {}

    String name();

    Turn step() throws IOException;

    @Override
    void close();
}

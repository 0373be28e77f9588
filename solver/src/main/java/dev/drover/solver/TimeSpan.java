package dev.drover.solver;

/**
 * Times that a usage row stands for.
 *
 * @param start first time
 * @param end first time after it
 */
record TimeSpan(long start, long end) {
    @Override
    public String toString() {
        return "[" + start + ", " + end + ")";
    }
}

package dev.drover.plan.memory;

import java.util.List;

/**
 * A piece of a worker's memory, for one value or a program's pool.
 *
 * @param name for people
 * @param offsetBytes from the start of the worker's memory
 * @param alwaysLive whether it keeps its content from step to step
 * @param lives when it holds something, ascending
 */
public record Region(
        MemoryKind kind, String name, long offsetBytes, long sizeBytes, boolean alwaysLive, List<Life> lives) {
    /** From one task of the worker's list to another; the number of tasks stands for the time after the step. */
    public record Life(int firstTask, int lastTask) {}

    public Region {
        lives = List.copyOf(lives);
    }

    static final long ALIGNMENT_BYTES = 64;

    static long aligned(long sizeBytes) {
        return Math.max(1, (sizeBytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    }

    Region at(long offset) {
        return new Region(kind, name, offset, sizeBytes, alwaysLive, lives);
    }

    int firstTask() {
        return lives.get(0).firstTask();
    }

    int lastTask() {
        return lives.get(lives.size() - 1).lastTask();
    }

    boolean isLiveAt(int task) {
        return alwaysLive || lives.stream().anyMatch(life -> life.firstTask() <= task && task <= life.lastTask());
    }

    /** Whether both hold something at one time. */
    boolean overlaps(Region other) {
        if (alwaysLive || other.alwaysLive) {
            return true;
        }
        int a = 0;
        int b = 0;
        while (a < lives.size() && b < other.lives.size()) {
            Life mine = lives.get(a);
            Life its = other.lives.get(b);
            if (mine.lastTask() < its.firstTask()) {
                a++;
            } else if (its.lastTask() < mine.firstTask()) {
                b++;
            } else {
                return true;
            }
        }
        return false;
    }
}

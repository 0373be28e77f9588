package dev.drover.backend.torch.emit;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Lays the buffers of a program into one pool such that buffers which live at the same time do not overlap. Results that may
 * overwrite a dying operand do so first. Largest buffers are placed first, each at the lowest free offset.
 */
final class MemoryPlan {
    private static final long ALIGNMENT_BYTES = 64;

    private MemoryPlan() {}

    /** Places all pool buffers; gives the pool's size. */
    static long place(List<Step> steps, List<Buffer> buffers) {
        shareInPlace(steps);
        List<Buffer> roots = new ArrayList<>();
        for (Buffer buffer : buffers) {
            if (buffer.kind() == Buffer.Kind.POOL && buffer.root() == buffer && buffer.lastUse() >= 0) {
                roots.add(buffer);
            }
        }
        roots.sort(Comparator.comparingLong((Buffer b) -> -b.sizeBytes()).thenComparingInt(Buffer::firstUse));
        return new Pool(roots.size()).place(roots);
    }

    static long aligned(Buffer buffer) {
        return Math.max(1, (buffer.sizeBytes() + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    }

    /** What is placed already, by offset. */
    private static final class Pool {
        private final int[] firstUse;
        private final int[] lastUse;
        private final long[] offset;
        private final long[] end;
        private int placed;

        Pool(int buffers) {
            this.firstUse = new int[buffers];
            this.lastUse = new int[buffers];
            this.offset = new long[buffers];
            this.end = new long[buffers];
        }

        long place(List<Buffer> buffers) {
            long poolBytes = 0;
            for (Buffer buffer : buffers) {
                long bytes = aligned(buffer);
                long at = lowestFree(buffer.firstUse(), buffer.lastUse(), bytes);
                buffer.place(at);
                insert(buffer, at, at + bytes);
                poolBytes = Math.max(poolBytes, at + bytes);
            }
            return poolBytes;
        }

        private long lowestFree(int first, int last, long bytes) {
            long at = 0;
            for (int i = 0; i < placed; i++) {
                boolean together = firstUse[i] <= last && first <= lastUse[i];
                if (together) {
                    if (offset[i] - at >= bytes) {
                        return at;
                    }
                    at = Math.max(at, end[i]);
                }
            }
            return at;
        }

        private void insert(Buffer buffer, long from, long to) {
            int low = 0;
            int high = placed;
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (offset[middle] <= from) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            System.arraycopy(firstUse, low, firstUse, low + 1, placed - low);
            System.arraycopy(lastUse, low, lastUse, low + 1, placed - low);
            System.arraycopy(offset, low, offset, low + 1, placed - low);
            System.arraycopy(end, low, end, low + 1, placed - low);
            firstUse[low] = buffer.firstUse();
            lastUse[low] = buffer.lastUse();
            offset[low] = from;
            end[low] = to;
            placed++;
        }
    }

    private static void shareInPlace(List<Step> steps) {
        for (Step step : steps) {
            for (Step.Block block : step.blocks()) {
                shareInPlace(block.steps());
            }
            for (Step.Alias alias : step.aliases()) {
                Buffer write = alias.write().buffer();
                Buffer read = alias.read().buffer().root();
                if (write.kind() == Buffer.Kind.POOL
                        && read.kind() == Buffer.Kind.POOL
                        && write.root() == write
                        && write != read
                        && write.firstUse() == step.position()
                        && read.lastUse() == step.position()
                        && mayOverwrite(step, alias)) {
                    write.mergeInto(read);
                }
            }
        }
    }

    /** Whether a step that writes in place of a read would destroy nothing that it reads elsewhere. */
    private static boolean mayOverwrite(Step step, Step.Alias alias) {
        Buffer target = alias.read().buffer().root();
        if (target.sizeBytes() != alias.write().buffer().sizeBytes()
                || !alias.write().sameLayout(alias.read())
                || !alias.read().isDense()) {
            return false;
        }
        for (View read : step.reads()) {
            if (read.buffer().root() == target && !read.sameLayout(alias.read())) {
                return false;
            }
        }
        for (View write : step.writes()) {
            if (write.buffer() != alias.write().buffer() && write.buffer().root() == target) {
                return false;
            }
        }
        return true;
    }

    /**
     * Lets a result take the memory of a value that it replaces (a donated input, a loop's carried value) if nothing reads the old
     * value once the result is being written.
     *
     * @param steps all steps that may touch either, nested ones included
     */
    static boolean coalesce(List<Step> steps, Buffer result, Buffer old) {
        if (result.kind() != Buffer.Kind.POOL
                || result.root() != result
                || old.root() != old
                || result == old
                || result.sizeBytes() != old.sizeBytes()) {
            return false;
        }
        int first = result.firstUse();
        if (old.lastUse() > first) {
            return false;
        }
        List<Step> atFirstWrite = new ArrayList<>();
        if (old.lastUse() == first) {
            collect(steps, old, first, atFirstWrite);
        }
        for (Step step : atFirstWrite) {
            boolean fits = false;
            for (Step.Alias alias : step.aliases()) {
                fits |= alias.write().buffer() == result && alias.read().buffer() == old && mayOverwrite(step, alias);
            }
            if (!fits) {
                return false;
            }
        }
        result.mergeInto(old);
        return true;
    }

    /** The steps at a position that touch a buffer. */
    private static void collect(List<Step> steps, Buffer buffer, int position, List<Step> out) {
        for (Step step : steps) {
            for (Step.Block block : step.blocks()) {
                collect(block.steps(), buffer, position, out);
            }
            if (step.position() == position && step.touches(buffer)) {
                out.add(step);
            }
        }
    }
}

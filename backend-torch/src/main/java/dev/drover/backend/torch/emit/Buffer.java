package dev.drover.backend.torch.emit;

import dev.drover.backend.torch.Carriers;
import dev.drover.ir.type.DType;
import org.jspecify.annotations.Nullable;

/**
 * A piece of memory that a program writes or reads: dense, of one element type. Where it lies is decided after all steps are
 * known.
 */
public final class Buffer {
    /** Who owns the memory. */
    public enum Kind {
        /** The program's pool, shared with buffers that live at other times. */
        POOL,
        /** The caller's, bound anew for each run. */
        INPUT,
        /** Made for the caller in each run. */
        OUTPUT,
        /** Written once when the program is bound. */
        CONSTANT
    }

    private final DType dtype;
    private final long elements;
    private Kind kind;
    private int slot = -1;
    private int firstUse = Integer.MAX_VALUE;
    private int lastUse = -1;
    private @Nullable Buffer mergedInto;
    private long offsetBytes;

    Buffer(DType dtype, long elements, Kind kind) {
        this.dtype = dtype;
        this.elements = elements;
        this.kind = kind;
    }

    public DType dtype() {
        return dtype;
    }

    public long elements() {
        return elements;
    }

    public long sizeBytes() {
        return elements * Carriers.width(dtype);
    }

    public Kind kind() {
        return kind;
    }

    void become(Kind newKind, int newSlot) {
        this.kind = newKind;
        this.slot = newSlot;
    }

    /** Position among inputs or outputs. */
    int slot() {
        return slot;
    }

    /** The buffer whose memory this one takes, itself if it has its own. */
    Buffer root() {
        Buffer at = this;
        while (at.mergedInto != null) {
            at = at.mergedInto;
        }
        return at;
    }

    /** Takes over the memory of another buffer, whose life is extended by this one's. */
    void mergeInto(Buffer other) {
        Buffer target = other.root();
        Buffer self = root();
        if (self != target) {
            self.mergedInto = target;
            target.firstUse = Math.min(target.firstUse, self.firstUse);
            target.lastUse = Math.max(target.lastUse, self.lastUse);
        }
    }

    void touch(int position) {
        firstUse = Math.min(firstUse, position);
        lastUse = Math.max(lastUse, position);
    }

    int firstUse() {
        return firstUse;
    }

    int lastUse() {
        return lastUse;
    }

    long offsetBytes() {
        return offsetBytes;
    }

    void place(long offset) {
        this.offsetBytes = offset;
    }

    @Override
    public String toString() {
        return kind + " " + dtype.hloName() + "[" + elements + "] " + firstUse + ".." + lastUse;
    }
}

package dev.drover.backend.torch.emit;

import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.StorageImpl;

/** Where the memory of a root buffer lies now. That of inputs and outputs moves between runs; tensors and pointers follow. */
public final class Place {
    private final StorageImpl storage;
    private long address;

    Place(StorageImpl storage, long address) {
        this.storage = storage;
        this.address = address;
    }

    public long address() {
        return address;
    }

    /** From now on the memory is the caller's at this address. */
    public void move(Pointer pointer, long newAddress, Device device) {
        if (address != newAddress) {
            try (DataPtr moved = new DataPtr(pointer, device)) {
                storage.set_data_ptr_noswap(moved);
            }
            address = newAddress;
        }
    }

    /** A pointer to f32 elements that can be set on any of a place without a new object. For one thread at a time. */
    public static final class Cursor extends FloatPointer {
        private final Place place;
        private final long offsetBytes;

        Cursor(Place place, long offsetBytes) {
            super((Pointer) null);
            this.place = place;
            this.offsetBytes = offsetBytes;
        }

        /** Sets this on the element {@code element} after the view's first one. */
        public Cursor at(long element) {
            address = place.address + offsetBytes + element * Float.BYTES;
            return this;
        }
    }
}

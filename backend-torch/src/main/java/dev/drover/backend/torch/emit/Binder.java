package dev.drover.backend.torch.emit;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.Natives;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Makes the libtorch tensors of views, once each, over memory that is placed. Owns what it makes. Tensors of inputs and outputs
 * share one storage by slot, whose address is set for each run.
 */
public final class Binder implements AutoCloseable {
    private final Map<Buffer, Tensor> baseByRoot = new HashMap<>();
    private final Map<Buffer, Place> placeByRoot = new HashMap<>();
    private final Map<View, Tensor> tensorByView = new HashMap<>();
    private final List<Pointer> owned = new ArrayList<>();
    private final Map<Object, Transfer[]> transferByStart = new HashMap<>();
    private final Map<Integer, FloatPointer> scratchByMember = new HashMap<>();

    private final @Nullable Communicators communicators;
    private @Nullable Team team;

    Binder(@Nullable Communicators communicators) {
        this.communicators = communicators;
    }

    /** A binder for things that live no longer than the caller's scope. */
    public static Binder temporary() {
        return new Binder(null);
    }

    /** Sets where the memory of a root buffer lies. */
    void place(Buffer root, Pointer pointer) {
        Tensor base = Natives.fromBlob(pointer, Carriers.scalarType(root.dtype()), root.elements());
        own(base);
        baseByRoot.put(root, base);
        StorageImpl storage = own(base.storage().unsafeGetStorageImpl());
        placeByRoot.put(root, new Place(storage, pointer.address()));
    }

    /** Where a root buffer lies. */
    Place placeOf(Buffer root) {
        Place place = placeByRoot.get(root);
        if (place == null) {
            throw new IllegalStateException("The buffer (" + root + ") must be placed.");
        }
        return place;
    }

    /** A pointer of its own for a view of f32. */
    public Place.Cursor cursor(View view) {
        return new Place.Cursor(placeOf(view.buffer().root()), view.offset() * Carriers.width(view.dtype()));
    }

    private Tensor base(Buffer root) {
        Tensor base = baseByRoot.get(root);
        if (base == null) {
            throw new IllegalStateException("The buffer (" + root + ") must be placed.");
        }
        return base;
    }

    /** The tensor of a view; the same object each time. */
    public Tensor tensor(View view) {
        Tensor made = tensorByView.get(view);
        if (made == null) {
            made = make(view);
            tensorByView.put(view, made);
        }
        return made;
    }

    private Tensor make(View view) {
        Tensor base = base(view.buffer().root());
        if (Carriers.scalarType(view.dtype())
                != Carriers.scalarType(view.buffer().root().dtype())) {
            base = own(base.view(Carriers.scalarType(view.dtype())));
        }
        try (LongOptional offset = new LongOptional(view.offset())) {
            return own(base.as_strided(view.sizes(), view.canonicalStrides(), offset));
        }
    }

    /** A scalar that lives as long as the program. */
    public Scalar scalar(double value) {
        return own(new Scalar(value));
    }

    public Scalar scalar(long value) {
        return own(new Scalar(value));
    }

    /** Keeps something native until the program is closed. */
    public <T extends Pointer> T own(T pointer) {
        owned.add(pointer);
        return pointer;
    }

    /** The communicator of some global ranks, of which this worker is one. */
    public Communicator group(List<Integer> ranks) {
        Communicators all = communicators;
        if (all == null) {
            throw new IllegalStateException(
                    "The communicators of a program with collectives over ranks " + ranks + " must be given.");
        }
        return all.group(ranks);
    }

    /** Where the step that starts a transfer leaves it for the step that waits. */
    Transfer[] transfer(Object start) {
        return transferByStart.computeIfAbsent(start, s -> new Transfer[] {Transfer.DONE});
    }

    /** The threads for loops in Java, as many as libtorch uses. */
    public Team team() {
        Team made = team;
        if (made == null) {
            made = new Team(torch.get_num_threads());
            team = made;
        }
        return made;
    }

    /** Memory for f32 elements that a member of the team may use within a piece. */
    public FloatPointer scratch(int member, long elements) {
        FloatPointer made = scratchByMember.get(member);
        if (made == null || made.capacity() < elements) {
            made = own(new FloatPointer(elements));
            scratchByMember.put(member, made);
        }
        return made;
    }

    /** Whether two views see the same memory in the same layout. */
    public boolean same(View one, View other) {
        return one.buffer().root() == other.buffer().root() && one.sameLayout(other);
    }

    /** Binds the steps of a block. */
    public Runnable[] bind(Step.Block block) {
        List<Runnable> bound = block.steps().stream().map(this::bind).toList();
        return Shared.join(block.steps(), bound).stream()
                .map(Shared.Joined::step)
                .toArray(Runnable[]::new);
    }

    Runnable bind(Step step) {
        try {
            return step.maker().bind(this);
        } catch (RuntimeException e) {
            throw new IllegalStateException("The instruction (" + step.name() + ") must bind to kernels.", e);
        }
    }

    @Override
    public void close() {
        if (team != null) {
            team.close();
            team = null;
        }
        for (int i = owned.size() - 1; i >= 0; i--) {
            owned.get(i).close();
        }
        owned.clear();
        tensorByView.clear();
        baseByRoot.clear();
        placeByRoot.clear();
    }
}

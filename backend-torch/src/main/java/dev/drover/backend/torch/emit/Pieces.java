package dev.drover.backend.torch.emit;

/** Kernels of libtorch cut along a dim whose elements do not meet, so that a {@link Team} does the pieces. */
public final class Pieces {
    /** Elements from which work is worth more threads than one, as libtorch has it. */
    public static final long SMALLEST_SHARED = 1 << 15;
    /** Of shared work for each thread, so that the last to end is not long alone. */
    private static final long PER_THREAD = 4;

    private Pieces() {}

    /** Makes the kernel for a range of a dim. */
    @FunctionalInterface
    public interface Maker {
        Runnable bind(long from, long length);
    }

    /** In how many pieces a team takes work of a size. */
    public static int count(Team team, long size) {
        return (int) Math.min(size, PER_THREAD * team.size());
    }

    /**
     * A kernel over a dim of this size.
     *
     * @param elements of the result, all together
     */
    public static Runnable bind(Binder binder, long elements, long size, Maker maker) {
        Team team = binder.team();
        if (team.size() == 1 || elements < SMALLEST_SHARED || size < 2) {
            return maker.bind(0, size);
        }
        Runnable[] pieces = new Runnable[count(team, size)];
        for (int i = 0; i < pieces.length; i++) {
            long from = size * i / pieces.length;
            pieces[i] = maker.bind(from, size * (i + 1) / pieces.length - from);
        }
        return new Shared(team, pieces.length, (member, piece) -> pieces[piece].run());
    }

    /** The dim of the widest steps with more than one element, or -1. */
    public static int slowest(View view) {
        int slowest = -1;
        for (int d = 0; d < view.rank(); d++) {
            if (view.size(d) > 1 && (slowest < 0 || view.stride(d) > view.stride(slowest))) {
                slowest = d;
            }
        }
        return slowest;
    }

    /** A copy of elements, converted as libtorch does it. */
    static Runnable copy(Binder binder, View from, View to) {
        int dim = slowest(to);
        if (dim < 0) {
            var source = binder.tensor(from);
            var target = binder.tensor(to);
            return () -> target.copy_(source);
        }
        return bind(binder, to.elements(), to.size(dim), (start, length) -> {
            var source = binder.tensor(from.narrow(dim, start, length));
            var target = binder.tensor(to.narrow(dim, start, length));
            return () -> target.copy_(source);
        });
    }
}

package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.LibTorch;
import dev.drover.backend.torch.Natives;
import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.Place;
import dev.drover.backend.torch.emit.Shared;
import dev.drover.backend.torch.emit.Team;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Products of f32 matrices by oneDNN, straight on planned memory: {@code c = a b} with the operands in either order of dims. See
 * docs/decisions/products-by-onednn.md for why not by libtorch.
 *
 * <p>A large product is cut in tiles, of which each thread of the team takes the next when it is done with one; of many small ones each
 * takes the next. Each call uses one thread.
 */
final class Gemm {
    /** Work, in multiplications, from which it is worth more threads than one. */
    private static final long SHARED = 1L << 20;
    /** Work of a product from which it is cut in tiles. */
    private static final long LARGE = 1L << 22;

    /** Of a tile, at most. */
    private static final long ROWS = 256;

    private static final long COLUMNS = 1024;
    private static final long LEAST = 48;

    private static final byte PLAIN = 'N';
    private static final byte TRANSPOSED = 'T';

    private Gemm() {}

    /** Whether a product, or a batch of them, can be done here. */
    static boolean takes(View a, View b, View c) {
        return LibTorch.hasOneDnn()
                && c.dtype() == DType.F32
                && c.elements() > 0
                && a.elements() > 0
                && b.elements() > 0
                && order(c) != 0
                && order(a) != 0
                && order(b) != 0;
    }

    /** How a matrix lies, or 0 if neither its rows nor its columns are without gaps. */
    private static byte order(View view) {
        return leading(view, PLAIN) > 0 ? PLAIN : leading(view, TRANSPOSED) > 0 ? TRANSPOSED : 0;
    }

    /** The step from one row (or column) to the next, or 0 if the matrix does not lie so. */
    private static long leading(View view, byte order) {
        int outer = order == PLAIN ? view.rank() - 2 : view.rank() - 1;
        int inner = order == PLAIN ? view.rank() - 1 : view.rank() - 2;
        if (view.size(inner) != 1 && view.stride(inner) != 1) {
            return 0;
        }
        if (view.size(outer) == 1) {
            return Math.max(1, view.size(inner));
        }
        return view.stride(outer) >= view.size(inner) ? view.stride(outer) : 0;
    }

    /** The shape of a product and how its matrices lie; batches follow one another in steps of elements. */
    private record Shape(
            byte orderA,
            byte orderB,
            long m,
            long n,
            long k,
            long leadingA,
            long leadingB,
            long leadingC,
            long batches,
            long stepA,
            long stepB,
            long stepC) {
        static Shape of(View a, View b, View c) {
            int r = c.rank() - 2;
            byte orderA = order(a);
            byte orderB = order(b);
            return new Shape(
                    orderA,
                    orderB,
                    c.size(r),
                    c.size(r + 1),
                    a.size(r + 1),
                    leading(a, orderA),
                    leading(b, orderB),
                    leading(c, PLAIN),
                    r == 0 ? 1 : c.size(0),
                    r == 0 ? 0 : a.stride(0),
                    r == 0 ? 0 : b.stride(0),
                    r == 0 ? 0 : c.stride(0));
        }
    }

    /** Products of one shape on memory, for one thread. */
    private static final class Calls {
        private final Shape shape;
        private final List<Place.Cursor> a = new ArrayList<>();
        private final List<Place.Cursor> b = new ArrayList<>();
        private final List<Place.Cursor> c = new ArrayList<>();

        Calls(Shape shape, Binder binder, List<View> lhs, List<View> rhs, List<View> out) {
            this.shape = shape;
            for (int i = 0; i < out.size(); i++) {
                a.add(binder.cursor(lhs.get(i)));
                b.add(binder.cursor(rhs.get(i)));
                c.add(binder.cursor(out.get(i)));
            }
        }

        int products() {
            return Math.toIntExact(shape.batches * a.size());
        }

        /** All products, in the order of views and of batches in them. */
        void run() {
            for (int i = 0; i < products(); i++) {
                run(i);
            }
        }

        void run(int product) {
            run(product, new Tile(0, shape.m, 0, shape.n));
        }

        /** A tile of one product. */
        void run(int product, Tile tile) {
            Shape s = shape;
            long step = s.orderA == PLAIN ? s.leadingA : 1;
            multiply(product, tile, a(product).at(product % s.batches * s.stepA + tile.row * step), s.leadingA);
        }

        /** A tile whose rows of the left operand lie elsewhere. */
        void multiply(int product, Tile tile, FloatPointer left, long leading) {
            Shape s = shape;
            int view = (int) (product / s.batches);
            long batch = product % s.batches;
            int status = dnnl.dnnl_sgemm(
                    s.orderA,
                    s.orderB,
                    tile.rows,
                    tile.columns,
                    s.k,
                    1f,
                    left,
                    leading,
                    b.get(view).at(batch * s.stepB + tile.column * (s.orderB == PLAIN ? 1 : s.leadingB)),
                    s.leadingB,
                    0f,
                    c.get(view).at(batch * s.stepC + tile.row * s.leadingC + tile.column),
                    s.leadingC);
            if (status != dnnl.dnnl_success) {
                throw new IllegalStateException("oneDNN must do the product; its status is (" + status + ").");
            }
        }

        private Place.Cursor a(int product) {
            return a.get((int) (product / shape.batches));
        }
    }

    /** A part of a result: rows and columns from here on. */
    record Tile(long row, long rows, long column, long columns) {}

    /**
     * How a result [m, n] is cut: by its size and the number of threads alone, so that bits do not depend on who takes what. Not finer
     * than needed, since each tile packs its rows of one operand and its columns of the other anew.
     */
    static List<Tile> tiles(long m, long n, int least) {
        long rows = equal(m, ROWS);
        long columns = equal(n, COLUMNS);
        while (parts(m, rows) * parts(n, columns) < least && Math.max(rows, columns) > LEAST) {
            if (rows >= columns) {
                rows = equal(rows, (rows + 1) / 2);
            } else {
                columns = equal(columns, (columns + 1) / 2);
            }
        }
        List<Tile> tiles = new ArrayList<>();
        for (long column = 0; column < n; column += columns) {
            for (long row = 0; row < m; row += rows) {
                tiles.add(new Tile(row, Math.min(rows, m - row), column, Math.min(columns, n - column)));
            }
        }
        return tiles;
    }

    private static long parts(long size, long part) {
        return (size + part - 1) / part;
    }

    /** The size of about equal parts of at most {@code most}, in multiples of 16, a vector register. */
    private static long equal(long size, long most) {
        return (parts(size, parts(size, most)) + 15) / 16 * 16;
    }

    /**
     * Tiles of {@code a^T b} where {@code a}'s rows are pages apart: all of a column of {@code a} then falls into few sets of the cache, and
     * oneDNN packs it at half the speed. So a tile's columns of {@code a} are first copied to rows that are not.
     */
    private static final class Copied {
        private static final long PAGE = 4096 / Float.BYTES;
        private static final long GAP = 16;
        private static final long MOST_COPIED = 1 << 20;

        private final Calls calls;
        private final Tile[] tiles;
        private final Tensor[] from;
        private final Tensor[] to;
        private final FloatPointer memory;
        private final long leading;

        static boolean pays(Shape shape, Tile[] tiles) {
            return shape.orderA == TRANSPOSED
                    && shape.leadingA % PAGE == 0
                    && shape.n >= 128
                    && shape.k * (tiles[0].rows + GAP) <= MOST_COPIED;
        }

        Copied(Calls calls, Binder binder, int member, List<View> lhs, Tile[] tiles) {
            Shape s = calls.shape;
            this.calls = calls;
            this.tiles = tiles;
            this.leading = tiles[0].rows + GAP;
            this.memory = binder.scratch(member, s.k * leading);
            this.from = new Tensor[calls.products() * tiles.length];
            this.to = new Tensor[tiles.length];
            Tensor all = binder.own(Natives.fromBlob(memory, torch.ScalarType.Float, s.k, leading));
            for (int t = 0; t < tiles.length; t++) {
                to[t] = binder.own(all.narrow(1, 0, tiles[t].rows));
            }
            for (int i = 0; i < from.length; i++) {
                View whole = lhs.get((int) (i / tiles.length / s.batches));
                View one = whole.rank() == 2 ? whole : whole.select(i / tiles.length % s.batches);
                Tile tile = tiles[i % tiles.length];
                from[i] = binder.tensor(one.narrow(0, tile.row, tile.rows).permute(1, 0));
            }
        }

        void run(int piece) {
            int t = piece % tiles.length;
            to[t].copy_(from[piece]);
            calls.multiply(piece / tiles.length, tiles[t], memory, leading);
        }
    }

    private static List<View> transposed(List<View> matrices) {
        return matrices.stream()
                .map(v -> v.rank() == 2 ? v.permute(1, 0) : v.permute(0, 2, 1))
                .toList();
    }

    /** Products {@code out[i] = lhs[i] rhs[i]}, all of one shape. */
    static Runnable bind(Binder binder, List<View> lhs, List<View> rhs, List<View> out) {
        if (order(out.get(0)) == TRANSPOSED) {
            return bind(binder, transposed(rhs), transposed(lhs), transposed(out));
        }
        Shape shape = Shape.of(lhs.get(0), rhs.get(0), out.get(0));
        Team team = binder.team();
        Calls[] calls = new Calls[team.size()];
        for (int i = 0; i < calls.length; i++) {
            calls[i] = new Calls(shape, binder, lhs, rhs, out);
        }
        int products = calls[0].products();
        long work = shape.m * shape.n * shape.k;
        if (team.size() == 1 || work * products < SHARED) {
            return calls[0]::run;
        }
        if (work < LARGE) {
            return new Shared(team, products, (member, piece) -> calls[member].run(piece));
        }
        Tile[] tiles =
                tiles(shape.m, shape.n, (team.size() + products - 1) / products).toArray(Tile[]::new);
        int pieces = Math.multiplyExact(products, tiles.length);
        if (Copied.pays(shape, tiles)) {
            Copied[] copied = new Copied[team.size()];
            for (int i = 0; i < copied.length; i++) {
                copied[i] = new Copied(calls[i], binder, i, lhs, tiles);
            }
            return new Shared(team, pieces, (member, piece) -> copied[member].run(piece));
        }
        return new Shared(
                team, pieces, (member, piece) -> calls[member].run(piece / tiles.length, tiles[piece % tiles.length]));
    }
}

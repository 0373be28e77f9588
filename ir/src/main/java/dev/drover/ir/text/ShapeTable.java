package dev.drover.ir.text;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TokenShape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Reads shapes; equal text gives one object. Layouts are kept beside the shape, for {@code bitcast} needs them. */
final class ShapeTable {
    /** Tuples in tuples; what programs are printed with has a handful. */
    private static final int MAX_DEPTH = 100;

    private static final int[] NO_LAYOUT = {};

    private final HloScanner scanner;
    private final ByteTable<Declared> known;

    /**
     * A shape as written.
     *
     * @param minorToMajor the layout of an array; empty if none is given or if it is row-major
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared; made by the thousand
    record Declared(Shape shape, int[] minorToMajor) {}

    ShapeTable(HloScanner scanner) {
        this.scanner = scanner;
        this.known = new ByteTable<>(scanner);
    }

    /** The shape that starts here. */
    Declared read() {
        int from = scanner.at;
        skip();
        int to = scanner.at;
        int hash = scanner.hash(from, to);
        Declared shape = known.get(from, to, hash);
        if (shape == null) {
            scanner.at = from;
            shape = parse(0);
            known.put(from, to, hash, shape);
        }
        return shape;
    }

    private void skip() {
        if (scanner.peek() == '(') {
            scanner.skipBrackets();
            return;
        }
        int start = scanner.at;
        scanner.skipName();
        if (scanner.at == start || scanner.peek() != '[') {
            throw scanner.error(start, "expected a shape such as f32[8,16]");
        }
        scanner.skipBrackets();
        if (scanner.peek() == '{') {
            scanner.skipBrackets();
        }
    }

    private Declared parse(int depth) {
        if (scanner.peek() == '(') {
            if (depth == MAX_DEPTH) {
                throw scanner.error(scanner.at, "expected tuples of at most " + MAX_DEPTH + " levels");
            }
            scanner.at++;
            List<Shape> elements = new ArrayList<>();
            if (!scanner.accept(')')) {
                do {
                    scanner.skipBlanks();
                    elements.add(parse(depth + 1).shape());
                } while (scanner.accept(','));
                scanner.expect(')', "or ',' after an element of a tuple's shape");
            }
            return new Declared(new TupleShape(elements), NO_LAYOUT);
        }
        int start = scanner.at;
        String type = scanner.string(start, scanner.skipName());
        if (type.equals("token")) {
            scanner.expect('[', "after token");
            scanner.expect(']', "after token[");
            return new Declared(TokenShape.TOKEN, NO_LAYOUT);
        }
        DType dtype = DType.byHloName(type);
        if (dtype == null) {
            String names = Arrays.stream(DType.values()).map(DType::hloName).collect(Collectors.joining(", "));
            throw scanner.error(start, "expected an element type out of " + names);
        }
        long[] dims = dims();
        if (!ArrayShape.fits(dims)) {
            throw scanner.error(start, "expected a shape of fewer than 2^60 elements");
        }
        ArrayShape shape = ArrayShape.of(dtype, dims);
        return new Declared(shape, layout(shape.rank()));
    }

    private long[] dims() {
        scanner.expect('[', "after the element type");
        long[] dims = new long[4];
        int rank = 0;
        if (!scanner.accept(']')) {
            do {
                if (rank == dims.length) {
                    dims = Arrays.copyOf(dims, 2 * rank);
                }
                dims[rank++] = number("of a dim");
            } while (scanner.accept(','));
            scanner.expect(']', "or ',' after a dim");
        }
        return Arrays.copyOf(dims, rank);
    }

    private long number(String what) {
        scanner.skipBlanks();
        int start = scanner.at;
        long value = 0;
        while (scanner.at < scanner.end && scanner.text[scanner.at] >= '0' && scanner.text[scanner.at] <= '9') {
            if (value > Long.MAX_VALUE / 16) {
                throw scanner.error(start, "expected a size " + what + " below 2^60");
            }
            value = value * 10 + (scanner.text[scanner.at++] - '0');
        }
        if (scanner.at == start) {
            throw scanner.error(start, "expected the size " + what);
        }
        return value;
    }

    private int[] layout(int rank) {
        if (scanner.peek() != '{') {
            return NO_LAYOUT;
        }
        int start = scanner.at;
        scanner.skipBrackets();
        int stop = scanner.at;
        scanner.at = start + 1;
        int[] minorToMajor = new int[rank];
        boolean rowMajor = true;
        long seen = 0;
        for (int i = 0; i < rank && scanner.peek() != ':' && scanner.peek() != '}'; i++) {
            int at = scanner.at;
            long dim = number("of a layout's entry");
            if (dim >= rank || (dim < Long.SIZE && (seen >> dim & 1) != 0)) {
                throw scanner.error(at, "expected a layout of each dim (below " + rank + ") once");
            }
            seen |= 1L << dim;
            minorToMajor[i] = (int) dim;
            rowMajor &= minorToMajor[i] == rank - 1 - i;
            scanner.accept(',');
        }
        scanner.at = stop;
        return rowMajor || rank < 2 ? NO_LAYOUT : minorToMajor;
    }
}

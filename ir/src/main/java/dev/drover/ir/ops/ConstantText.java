package dev.drover.ir.ops;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.PackedLiteral;
import dev.drover.ir.eval.Rounding;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The elements of a constant as HLO text has them: {@code 1.5}, {@code {1, 2}}, {@code { {true, false}, {false, true} }}, {@code
 * (1, -2)} for complex numbers, {@code inf}, {@code nan}, comments, {@code {...}} for values left out. A bare scalar stands for
 * an array filled with it; such arrays above {@link #NESTED_LIMIT} elements are printed so (XLA reads only the nested form).
 */
final class ConstantText {
    static final long NESTED_LIMIT = 4096;
    private static final Pattern LEFT_OUT = Pattern.compile("\\{ *\\.\\.\\. *}");

    private final ArrayShape shape;
    private final String text;
    private final Literal out;
    private int at;
    private int next;

    private ConstantText(ArrayShape shape, String text) {
        this.shape = shape;
        this.text = text;
        this.out = Literal.zeros(shape);
    }

    /** Null if the values were left out. */
    static @Nullable PackedLiteral parse(ArrayShape shape, String text) {
        String trimmed = text.trim();
        if (LEFT_OUT.matcher(trimmed).matches()) {
            return null;
        }
        if (shape.rank() > 0 && !trimmed.startsWith("{") && !trimmed.startsWith("/*")) {
            ConstantText scalar = new ConstantText(ArrayShape.scalar(shape.dtype()), trimmed);
            scalar.readAll();
            return PackedLiteral.splat(shape, scalar.out);
        }
        ConstantText reader = new ConstantText(shape, trimmed);
        reader.readAll();
        return PackedLiteral.pack(reader.out);
    }

    private void readAll() {
        skip();
        readDim(0);
        skip();
        if (at != text.length()) {
            throw fail("end");
        }
    }

    private void readDim(int dim) {
        if (dim == shape.rank()) {
            readElement();
            return;
        }
        expect('{');
        for (long i = 0; i < shape.dim(dim); i++) {
            if (i > 0) {
                expect(',');
            }
            readDim(dim + 1);
        }
        expect('}');
    }

    private void readElement() {
        skip();
        DType dtype = shape.dtype();
        if (dtype.isComplex()) {
            // A bare real number is also one.
            boolean pair = at < text.length() && text.charAt(at) == '(';
            if (pair) {
                at++;
            }
            out.doubles()[2 * next] = real(token(), DType.F32);
            if (pair) {
                expect(',');
                out.doubles()[2 * next + 1] = real(token(), DType.F32);
                expect(')');
            }
        } else if (dtype.isFloat()) {
            out.doubles()[next] = real(token(), dtype);
        } else {
            out.longs()[next] = whole(token(), dtype);
        }
        next++;
    }

    private String token() {
        skip();
        int start = at;
        int depth = 0;
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == '(') {
                depth++;
            } else if (c == ')' && depth > 0) {
                depth--;
            } else if (c == ',' || c == '}' || c == ')' || c == '{' || Character.isWhitespace(c)) {
                break;
            }
            at++;
        }
        return text.substring(start, at);
    }

    private double real(String token, DType dtype) {
        switch (token) {
            case "inf", "+inf" -> {
                return Rounding.round(dtype, Double.POSITIVE_INFINITY);
            }
            case "-inf" -> {
                return Rounding.round(dtype, Double.NEGATIVE_INFINITY);
            }
            default -> {}
        }
        if (token.startsWith("nan") || token.startsWith("-nan")) {
            // A payload, as in nan(0x1), is dropped.
            return token.charAt(0) == '-' ? Double.longBitsToDouble(0xFFF8L << 48) : Double.NaN;
        }
        if (token.isEmpty() || "0123456789.".indexOf(token.charAt(token.length() - 1)) < 0) {
            throw badToken(token);
        }
        try {
            // Straight to f32: a decimal must not be rounded twice.
            return dtype == DType.F32 ? Float.parseFloat(token) : Rounding.round(dtype, Double.parseDouble(token));
        } catch (NumberFormatException e) {
            throw badToken(token);
        }
    }

    private long whole(String token, DType dtype) {
        if (dtype == DType.PRED && token.equals("true")) {
            return 1;
        }
        if (dtype == DType.PRED && token.equals("false")) {
            return 0;
        }
        long value;
        try {
            value = dtype == DType.U64 && !token.startsWith("-")
                    ? Long.parseUnsignedLong(token)
                    : Long.parseLong(token);
        } catch (NumberFormatException e) {
            throw badToken(token);
        }
        if (dtype.bits() < 64 && Rounding.wrap(dtype, value) != value) {
            throw badToken(token);
        }
        return value;
    }

    private void expect(char wanted) {
        skip();
        if (at >= text.length() || text.charAt(at) != wanted) {
            throw fail("'" + wanted + "'");
        }
        at++;
    }

    private void skip() {
        while (at < text.length()) {
            if (Character.isWhitespace(text.charAt(at))) {
                at++;
            } else if (text.startsWith("/*", at)) {
                int end = text.indexOf("*/", at);
                at = end < 0 ? text.length() : end + 2;
            } else {
                return;
            }
        }
    }

    private AttributeException fail(String expected) {
        String rest = at >= text.length() ? "end" : text.substring(at, Math.min(text.length(), at + 20));
        return new AttributeException(
                "",
                "The literal of a constant (" + shape + ") must have " + expected + " where it has (" + rest + ").");
    }

    private AttributeException badToken(String token) {
        return new AttributeException(
                "", "The element (" + token + ") of a constant (" + shape + ") must be a number of its type.");
    }

    static String print(ArrayShape shape, @Nullable PackedLiteral values) {
        if (values == null) {
            return "{...}";
        }
        StringBuilder text = new StringBuilder();
        if (values.isSplat() && shape.elements() > NESTED_LIMIT) {
            element(text, values, 0);
        } else {
            dim(text, shape, values, 0, 0);
        }
        return text.toString();
    }

    /** Prints the elements from {@code first} that share the indexes of the dims before {@code dim}. */
    private static void dim(StringBuilder text, ArrayShape shape, PackedLiteral values, int dim, int first) {
        if (dim == shape.rank()) {
            element(text, values, first);
            return;
        }
        boolean inner = dim + 1 < shape.rank();
        int stride = (int) shape.strides()[dim];
        text.append(inner ? "{ " : "{");
        for (int i = 0; i < shape.dim(dim); i++) {
            text.append(i == 0 ? "" : ", ");
            dim(text, shape, values, dim + 1, first + i * stride);
        }
        text.append(inner ? " }" : "}");
    }

    private static void element(StringBuilder text, PackedLiteral values, int index) {
        DType dtype = values.shape().dtype();
        long bits = values.bits(index);
        if (dtype.isComplex()) {
            text.append('(');
            real(text, DType.F32, bits & 0xFFFFFFFFL);
            text.append(", ");
            real(text, DType.F32, bits >>> 32);
            text.append(')');
        } else if (dtype.isFloat()) {
            real(text, dtype, bits);
        } else if (dtype == DType.PRED) {
            text.append(bits != 0);
        } else if (dtype == DType.U64) {
            text.append(Long.toUnsignedString(bits));
        } else {
            text.append(Rounding.wrap(dtype, bits));
        }
    }

    private static void real(StringBuilder text, DType dtype, long bits) {
        double value = Bits.toDouble(dtype, bits);
        if (Double.isNaN(value)) {
            text.append(bits >>> (dtype.bits() - 1) != 0 ? "-nan" : "nan");
        } else if (Double.isInfinite(value)) {
            text.append(value > 0 ? "inf" : "-inf");
        } else {
            String shortest = dtype == DType.F64 ? Double.toString(value) : Float.toString((float) value);
            // XLA reads -0 as the integer 0.
            boolean whole = shortest.endsWith(".0") && !shortest.equals("-0.0");
            text.append(whole ? shortest.substring(0, shortest.length() - 2) : shortest);
        }
    }
}

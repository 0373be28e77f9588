package dev.drover.ir.init;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the elements of an input are distributed. Printed and read as {@code zeros}, {@code ones}, {@code constant(0.5)}, {@code normal(0.02)}, {@code uniform(-1,1)}, {@code integers(0,256)}.
 */
public sealed interface Distribution {

    /** One value everywhere. */
    record Constant(double value) implements Distribution {
        @Override
        public String toString() {
            return value == 0 ? "zeros" : value == 1 ? "ones" : "constant(" + value + ")";
        }
    }

    /** Normal with mean 0. */
    record Normal(double std) implements Distribution {
        @Override
        public String toString() {
            return "normal(" + std + ")";
        }
    }

    /** Uniform over [low, high), but for rounding to the element type. */
    record Uniform(double low, double high) implements Distribution {
        @Override
        public String toString() {
            return "uniform(" + low + "," + high + ")";
        }
    }

    /** Uniform over the whole numbers in [low, high); at most 2^32 of them. */
    record Integers(long low, long high) implements Distribution {
        public Integers {
            if (high <= low || high - low > 1L << 32) {
                throw new IllegalArgumentException(
                        "The range [" + low + ", " + high + ") of integers must hold 1 to 2^32 numbers.");
            }
        }

        @Override
        public String toString() {
            return "integers(" + low + "," + high + ")";
        }
    }

    static Distribution zeros() {
        return new Constant(0);
    }

    static Distribution ones() {
        return new Constant(1);
    }

    static Distribution normal(double std) {
        return new Normal(std);
    }

    /** Reads what is printed. */
    static Distribution parse(String text) {
        Matcher matcher =
                Pattern.compile("(\\w+)(?:\\(([^,()]+)(?:,([^,()]+))?\\))?").matcher(text.trim());
        if (matcher.matches()) {
            String first = matcher.group(2);
            String second = matcher.group(3);
            int numbers = second != null ? 2 : first != null ? 1 : 0;
            try {
                switch (matcher.group(1) + numbers) {
                    case "zeros0" -> {
                        return zeros();
                    }
                    case "ones0" -> {
                        return ones();
                    }
                    case "constant1" -> {
                        return new Constant(Double.parseDouble(first));
                    }
                    case "normal1" -> {
                        return new Normal(Double.parseDouble(first));
                    }
                    case "uniform2" -> {
                        return new Uniform(Double.parseDouble(first), Double.parseDouble(second));
                    }
                    case "integers2" -> {
                        return new Integers(Long.parseLong(first.trim()), Long.parseLong(second.trim()));
                    }
                    default -> {}
                }
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException("The numbers of distribution (" + text + ") must be numbers.", e);
            }
        }
        throw new IllegalArgumentException("The distribution (" + text
                + ") must be one of zeros, ones, constant(x), normal(std), uniform(low,high), integers(low,high).");
    }
}

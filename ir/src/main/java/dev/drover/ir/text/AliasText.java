package dev.drover.ir.text;

import dev.drover.ir.graph.Graph.Alias;
import dev.drover.ir.ops.AttributeException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** {@code { {0}: (3, {}, may-alias), {1, 2}: (4, {0}, must-alias) }}. */
final class AliasText {
    private final String text;
    private int at;

    private AliasText(String text) {
        this.text = text;
    }

    static List<Alias> parse(String text) {
        return new AliasText(text).aliases();
    }

    static String print(List<Alias> aliases) {
        return aliases.stream()
                .map(alias -> path(alias.outputIndex()) + ": (" + alias.parameter() + ", "
                        + path(alias.parameterIndex()) + ", " + (alias.must() ? "must" : "may") + "-alias)")
                .collect(Collectors.joining(", ", "{ ", " }"));
    }

    private static String path(List<Integer> path) {
        return path.stream().map(String::valueOf).collect(Collectors.joining(", ", "{", "}"));
    }

    private List<Alias> aliases() {
        List<Alias> out = new ArrayList<>();
        expect('{');
        while (!accept('}')) {
            List<Integer> output = path();
            expect(':');
            expect('(');
            int parameter = number();
            List<Integer> inner = accept(',') && peek() == '{' ? path() : List.of();
            boolean must = false;
            if (accept(',') || Character.isLetter(peek())) {
                peek();
                int from = at;
                while (at < text.length() && text.charAt(at) != ')') {
                    at++;
                }
                must = text.substring(from, at).trim().equals("must-alias");
            }
            expect(')');
            out.add(new Alias(output, parameter, inner, must));
            accept(',');
        }
        return out;
    }

    private List<Integer> path() {
        List<Integer> out = new ArrayList<>();
        expect('{');
        while (!accept('}')) {
            out.add(number());
            accept(',');
        }
        return out;
    }

    private int number() {
        peek();
        int from = at;
        while (at < text.length() && Character.isDigit(text.charAt(at))) {
            at++;
        }
        if (at == from || at - from > 9) {
            throw wrong("a number");
        }
        return Integer.parseInt(text.substring(from, at));
    }

    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private boolean accept(char c) {
        if (peek() == c) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char c) {
        if (!accept(c)) {
            throw wrong("'" + c + "'");
        }
    }

    private AttributeException wrong(String expected) {
        return new AttributeException(
                "input_output_alias",
                "The input_output_alias must have " + expected + " before \""
                        + text.substring(at, Math.min(text.length(), at + 20)) + "\".");
    }
}

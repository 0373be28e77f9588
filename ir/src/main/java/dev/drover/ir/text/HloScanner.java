package dev.drover.ir.text;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Instruction;
import java.nio.charset.StandardCharsets;

/**
 * A cursor over the bytes of an HLO text. Blanks, line ends and comments separate tokens and mean nothing else. Everything here is
 * written for speed: no token objects, positions instead of substrings.
 */
final class HloScanner {
    // 0 is any other byte.
    private static final byte NAME = 1;
    private static final byte OPEN = 2;
    private static final byte CLOSE = 3;
    private static final byte QUOTE = 4;
    private static final byte COMMA = 5;
    private static final byte LINE = 6;

    private static final byte[] KINDS = kinds();

    final String file;
    final byte[] text;
    final int end;
    int at;

    HloScanner(String file, byte[] text) {
        this.file = file;
        this.text = text;
        this.end = text.length;
    }

    private static byte[] kinds() {
        byte[] kinds = new byte[256];
        for (int c = 0; c < 256; c++) {
            if (Instruction.isNameSign((char) c)) {
                kinds[c] = NAME;
            }
        }
        for (char c : "([{".toCharArray()) {
            kinds[c] = OPEN;
        }
        for (char c : ")]}".toCharArray()) {
            kinds[c] = CLOSE;
        }
        kinds['"'] = QUOTE;
        kinds['\''] = QUOTE;
        kinds[','] = COMMA;
        kinds['\n'] = LINE;
        return kinds;
    }

    /** Moves over blanks, line ends and comments. */
    void skipBlanks() {
        while (at < end) {
            byte c = text[at];
            if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
                at++;
            } else if (c == '/' && at + 1 < end && (text[at + 1] == '*' || text[at + 1] == '/')) {
                skipComment();
            } else {
                return;
            }
        }
    }

    private void skipComment() {
        int start = at;
        if (text[at + 1] == '/') {
            while (at < end && text[at] != '\n') {
                at++;
            }
            return;
        }
        at += 2;
        while (at + 1 < end && !(text[at] == '*' && text[at + 1] == '/')) {
            at++;
        }
        if (at + 1 >= end) {
            throw error(start, "the comment must end with */");
        }
        at += 2;
    }

    /** The byte here, 0 at the end. */
    byte peek() {
        return at < end ? text[at] : 0;
    }

    boolean atEnd() {
        return at >= end;
    }

    /** Skips blanks, and then one given character if it is here. */
    boolean accept(char c) {
        skipBlanks();
        if (at < end && text[at] == c) {
            at++;
            return true;
        }
        return false;
    }

    /** Skips blanks and a character that must be here. */
    void expect(char c, String where) {
        if (!accept(c)) {
            throw error(at, "expected '" + c + "' " + where);
        }
    }

    /** Moves over a name's characters and returns where they end; {@link #at} is there too. */
    int skipName() {
        while (at < end && KINDS[text[at] & 0xff] == NAME) {
            at++;
        }
        return at;
    }

    /** Whether exactly this word begins here, not followed by more of a name. */
    boolean looksAt(String word) {
        int length = word.length();
        if (at + length > end) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (text[at + i] != word.charAt(i)) {
                return false;
            }
        }
        return at + length == end || KINDS[text[at + length] & 0xff] != NAME;
    }

    /** From an opening bracket to behind the one that closes it; strings are jumped over. */
    void skipBrackets() {
        int start = at;
        int depth = 0;
        while (at < end) {
            switch (KINDS[text[at] & 0xff]) {
                case OPEN -> depth++;
                case CLOSE -> {
                    if (--depth == 0) {
                        at++;
                        return;
                    }
                }
                case QUOTE -> skipString();
                default -> {}
            }
            at++;
        }
        throw error(end, "expected the end of the '" + (char) text[start] + "' of " + position(start));
    }

    /** From an opening quote to the closing one; {@link #at} is on it then. */
    private void skipString() {
        int start = at;
        byte quote = text[at++];
        while (at < end && text[at] != quote) {
            at += text[at] == '\\' ? 2 : 1;
        }
        if (at >= end) {
            throw error(end, "expected the end of the string of " + position(start));
        }
    }

    /** Moves over an attribute's value: up to a comma, a line end or a closing bracket that are not inside brackets. */
    void skipValue() {
        int start = at;
        while (at < end) {
            switch (KINDS[text[at] & 0xff]) {
                case OPEN -> {
                    skipBrackets();
                    continue;
                }
                case QUOTE -> skipString();
                case CLOSE, COMMA, LINE -> {
                    trimmed(start);
                    return;
                }
                default -> {}
            }
            at++;
        }
        trimmed(start);
    }

    private void trimmed(int start) {
        int stop = at;
        while (stop > start && text[stop - 1] <= ' ') {
            stop--;
        }
        if (stop == start) {
            throw error(start, "expected the value of an attribute");
        }
        valueEnd = stop;
    }

    /** Where the value that {@link #skipValue} passed ends, without blanks. */
    int valueEnd;

    String string(int from, int to) {
        return new String(text, from, to - from, StandardCharsets.UTF_8);
    }

    int hash(int from, int to) {
        int hash = 1;
        for (int i = from; i < to; i++) {
            hash = hash * 31 + text[i];
        }
        return hash ^ hash >>> 15;
    }

    boolean same(int from, int other, int length) {
        return java.util.Arrays.equals(text, from, from + length, text, other, other + length);
    }

    /** {@code line 12, column 5}; both count from 1, columns in bytes. */
    String position(int offset) {
        return "line " + line(offset) + ", column " + column(offset);
    }

    int line(int offset) {
        int line = 1;
        for (int i = 0; i < Math.min(offset, end); i++) {
            if (text[i] == '\n') {
                line++;
            }
        }
        return line;
    }

    private int column(int offset) {
        int start = Math.min(offset, end);
        while (start > 0 && text[start - 1] != '\n') {
            start--;
        }
        return Math.min(offset, end) - start + 1;
    }

    /** {@code file:line:column: message, but found ..}. */
    UserError error(int offset, String expected) {
        return new UserError(where(offset) + expected + ", but " + found(offset) + ".");
    }

    /** {@code file:line:column: }. */
    String where(int offset) {
        return file + ":" + line(offset) + ":" + column(offset) + ": ";
    }

    private String found(int offset) {
        int from = offset;
        while (from < end && text[from] <= ' ') {
            from++;
        }
        if (from >= end) {
            return "the file ends here";
        }
        int to = from;
        while (to < end && to - from < 24 && text[to] != '\n' && text[to] != '\r') {
            to++;
        }
        return "found \"" + string(from, to).replaceAll("[^ -~]", "?") + "\"";
    }
}

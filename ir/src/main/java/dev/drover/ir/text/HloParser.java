package dev.drover.ir.text;

import dev.drover.ir.UserError;
import dev.drover.ir.ops.OpKind;
import dev.drover.ir.ops.Ops;
import dev.drover.ir.text.ParsedModule.ParsedComputation;
import dev.drover.ir.text.ParsedModule.ParsedInstruction;
import dev.drover.ir.text.ShapeTable.Declared;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The grammar of HLO text, by recursive descent:
 *
 * <pre>
 * module      = "HloModule" name {"," attribute} {table} {computation}
 * table       = ("FileNames" | "FunctionNames" | "FileLocations" | "StackFrames") lines up to an empty one
 * computation = ["ENTRY"] name ["(" parameters ")" "->" shape] "{" {instruction} "}" {"," attribute}
 * instruction = ["ROOT"] name "=" shape opcode "(" (operands | payload) ")" {"," attribute}
 * operand     = [shape] name
 * attribute   = word "=" value
 * name        = ["%"] word
 * </pre>
 */
final class HloParser {
    private static final List<String> TABLES = List.of("FileNames", "FunctionNames", "FileLocations", "StackFrames");
    private static final int[] NO_OPERANDS = {};
    private static final int INTERNED_BYTES = 48;

    private final HloScanner scanner;
    private final ShapeTable shapes;
    private final ByteTable<String> words;
    private final ByteTable<Opcode> opcodes;
    private final ByteTable<Integer> names;
    private final Map<String, Unknown> unknown = new TreeMap<>();
    private int[] operands = new int[16];

    private record Opcode(String name, @Nullable OpKind kind) {}

    private record Unknown(int count, int firstOffset) {}

    HloParser(HloScanner scanner) {
        this.scanner = scanner;
        this.shapes = new ShapeTable(scanner);
        this.words = new ByteTable<>(scanner);
        this.opcodes = new ByteTable<>(scanner);
        this.names = new ByteTable<>(scanner);
    }

    /** Text of MLIR begins with a module, an attribute alias or a comment; binary files have bytes that are no letters. */
    private boolean isOtherFormat() {
        int end = Math.min(scanner.text.length, scanner.at + 64);
        for (int i = scanner.at; i < end; i++) {
            if (scanner.text[i] < ' '
                    && scanner.text[i] != '\n'
                    && scanner.text[i] != '\r'
                    && scanner.text[i] != '\t') {
                return true;
            }
        }
        return scanner.looksAt("module") || scanner.looksAt("#") || scanner.looksAt("//");
    }

    ParsedModule parse() {
        scanner.skipBlanks();
        if (!scanner.looksAt("HloModule")) {
            UserError error = scanner.error(scanner.at, "expected HloModule at the start of HLO text");
            throw scanner.atEnd() || scanner.peek() == 'H'
                    ? error
                    : new UserError(
                            String.valueOf(error.getMessage()),
                            "Maybe " + (isOtherFormat() ? "it is StableHLO, ONNX or binary HLO; write" : "write")
                                    + " HLO text instead (JAX: lowered.as_text(\"hlo\")).");
        }
        scanner.at += "HloModule".length();
        String module = name("of the module");
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes(attributes);
        Map<String, ParsedComputation> computations = new LinkedHashMap<>();
        String entry = null;
        for (scanner.skipBlanks(); !scanner.atEnd(); scanner.skipBlanks()) {
            if (table(attributes)) {
                continue;
            }
            int start = scanner.at;
            boolean isEntry = word("ENTRY");
            ParsedComputation computation = computation();
            if (computations.put(computation.name(), computation) != null) {
                throw duplicate(start, "a computation", computation.name());
            }
            if (isEntry) {
                if (entry != null) {
                    throw new UserError(scanner.where(start) + "The computation (" + computation.name()
                            + ") must not be a second ENTRY beside (" + entry + ").");
                }
                entry = computation.name();
            }
        }
        if (!unknown.isEmpty()) {
            throw unknownOpcodes();
        }
        if (entry == null) {
            throw scanner.error(scanner.end, "expected a computation marked ENTRY");
        }
        return new ParsedModule(module, attributes, computations, entry);
    }

    private UserError duplicate(int offset, String what, String name) {
        return new UserError(scanner.where(offset) + "The name (" + name + ") of " + what + " must be unique.");
    }

    private UserError unknownOpcodes() {
        StringBuilder list = new StringBuilder();
        unknown.forEach((opcode, seen) -> list.append(list.isEmpty() ? "" : ", ")
                .append(opcode)
                .append(" (")
                .append(seen.count() == 1 ? "" : seen.count() + " times, first in ")
                .append("line ")
                .append(scanner.line(seen.firstOffset()))
                .append(')'));
        return new UserError(
                scanner.file + ": The opcodes of an HLO text must be known, but these are not: " + list + ".");
    }

    /** A table of source positions, kept verbatim under its name. */
    private boolean table(Map<String, String> attributes) {
        for (String table : TABLES) {
            if (scanner.looksAt(table)) {
                int from = scanner.at + table.length();
                while (from < scanner.end && scanner.text[from] != '\n') {
                    from++;
                }
                int to = Math.min(from + 1, scanner.end);
                scanner.at = to;
                while (scanner.at < scanner.end && scanner.text[scanner.at] >= '0' && scanner.text[scanner.at] <= '9') {
                    while (scanner.at < scanner.end && scanner.text[scanner.at] != '\n') {
                        scanner.at++;
                    }
                    to = scanner.at;
                    scanner.at = Math.min(scanner.at + 1, scanner.end);
                }
                attributes.put(table, scanner.string(Math.min(from + 1, to), to));
                return true;
            }
        }
        return false;
    }

    private boolean word(String word) {
        if (scanner.looksAt(word)) {
            scanner.at += word.length();
            scanner.skipBlanks();
            return true;
        }
        return false;
    }

    private String name(String what) {
        int from = nameStart(what);
        return scanner.string(from, scanner.at);
    }

    /** Moves over a name; returns where it starts, behind the percent sign. */
    private int nameStart(String what) {
        scanner.skipBlanks();
        int start = scanner.at;
        if (scanner.peek() == '%') {
            scanner.at++;
        }
        int from = scanner.at;
        if (scanner.skipName() == from) {
            throw scanner.error(start, "expected the name " + what);
        }
        return from;
    }

    private ParsedComputation computation() {
        int start = scanner.at;
        String name = name("of a computation");
        scanner.skipBlanks();
        if (scanner.peek() == '(') {
            scanner.skipBrackets();
            scanner.expect('-', "before the result's shape of computation (" + name + ")");
            scanner.expect('>', "before the result's shape of computation (" + name + ")");
            scanner.skipBlanks();
            shapes.read();
        }
        scanner.expect('{', "before the instructions of computation (" + name + ")");
        names.clear();
        List<ParsedInstruction> instructions = new ArrayList<>();
        int root = -1;
        while (!scanner.accept('}')) {
            boolean isRoot = word("ROOT");
            ParsedInstruction instruction = instruction(name, instructions.size());
            if (isRoot) {
                if (root >= 0) {
                    throw new UserError(scanner.where(instruction.start()) + "The instruction (" + instruction.name()
                            + ") must not be a second ROOT of computation (" + name + ").");
                }
                root = instructions.size();
            }
            instructions.add(instruction);
        }
        if (instructions.isEmpty()) {
            throw new UserError(scanner.where(start) + "The computation (" + name + ") must have an instruction.");
        }
        attributes(new LinkedHashMap<>());
        return new ParsedComputation(name, start, instructions, root < 0 ? instructions.size() - 1 : root);
    }

    private ParsedInstruction instruction(String computation, int position) {
        scanner.skipBlanks();
        int start = scanner.at;
        if (start >= scanner.end) {
            throw scanner.error(start, "expected an instruction or the '}' of computation (" + computation + ")");
        }
        int nameFrom = nameStart("of an instruction or the '}' of computation (" + computation + ")");
        int nameTo = scanner.at;
        scanner.expect('=', "after the name of an instruction");
        scanner.skipBlanks();
        Declared declared = shapes.read();
        scanner.skipBlanks();
        int opcodeAt = scanner.at;
        int opcodeEnd = scanner.skipName();
        if (opcodeEnd == opcodeAt) {
            throw scanner.error(opcodeAt, "expected an opcode");
        }
        scanner.expect('(', "after the opcode");
        Opcode opcode = opcode(opcodeAt, opcodeEnd);
        if (opcode.kind() == null) {
            unknown.merge(
                    opcode.name(), new Unknown(1, opcodeAt), (a, b) -> new Unknown(a.count() + 1, a.firstOffset()));
        }
        String payload = "";
        int[] operandIds = NO_OPERANDS;
        if (opcode.name().equals("constant") || opcode.name().equals("parameter")) {
            int from = scanner.at--;
            scanner.skipBrackets();
            payload = intern(from, scanner.at - 1);
        } else {
            operandIds = operands(computation);
        }
        Map<String, String> attributes = Map.of();
        if (scanner.accept(',')) {
            attributes = new LinkedHashMap<>();
            attribute(attributes);
            attributes(attributes);
            attributes = Collections.unmodifiableMap(attributes);
        }
        if (names.put(nameFrom, nameTo, scanner.hash(nameFrom, nameTo), position) != null) {
            throw duplicate(
                    start, "an instruction of computation (" + computation + ")", scanner.string(nameFrom, nameTo));
        }
        return new ParsedInstruction(
                start,
                scanner.string(nameFrom, nameTo),
                declared,
                opcodeAt,
                opcode.name(),
                opcode.kind(),
                operandIds,
                payload,
                attributes);
    }

    private Opcode opcode(int from, int to) {
        int hash = scanner.hash(from, to);
        Opcode opcode = opcodes.get(from, to, hash);
        if (opcode == null) {
            String name = scanner.string(from, to);
            opcode = new Opcode(name, Ops.byOpcode(name));
            opcodes.put(from, to, hash, opcode);
        }
        return opcode;
    }

    private int[] operands(String computation) {
        int count = 0;
        if (!scanner.accept(')')) {
            do {
                if (count == operands.length) {
                    operands = Arrays.copyOf(operands, 2 * count);
                }
                operands[count++] = operand(computation);
            } while (scanner.accept(','));
            scanner.expect(')', "or ',' after an operand");
        }
        return count == 0 ? NO_OPERANDS : Arrays.copyOf(operands, count);
    }

    private int operand(String computation) {
        scanner.skipBlanks();
        int start = scanner.at;
        byte first = scanner.peek();
        if (first == '(') {
            shapes.read();
        } else if (first != '%') {
            scanner.skipName();
            if (scanner.peek() == '[') {
                scanner.at = start;
                shapes.read();
            } else {
                scanner.at = start;
            }
        }
        int from = nameStart("of an operand");
        Integer id = names.get(from, scanner.at, scanner.hash(from, scanner.at));
        if (id == null) {
            throw new UserError(scanner.where(start) + "The operand (" + scanner.string(from, scanner.at)
                    + ") must be an instruction that comes before, in computation (" + computation + ").");
        }
        return id;
    }

    /** {@code , name=value} as often as it is there. */
    private void attributes(Map<String, String> into) {
        while (scanner.accept(',')) {
            attribute(into);
        }
    }

    private void attribute(Map<String, String> into) {
        scanner.skipBlanks();
        int from = scanner.at;
        int to = scanner.skipName();
        if (to == from) {
            throw scanner.error(from, "expected the name of an attribute");
        }
        scanner.expect('=', "after the name of an attribute");
        scanner.skipBlanks();
        int valueFrom = scanner.at;
        scanner.skipValue();
        if (into.put(intern(from, to), intern(valueFrom, scanner.valueEnd)) != null) {
            throw duplicate(from, "an attribute", scanner.string(from, to));
        }
    }

    private String intern(int from, int to) {
        if (to - from > INTERNED_BYTES) {
            return scanner.string(from, to);
        }
        int hash = scanner.hash(from, to);
        String word = words.get(from, to, hash);
        if (word == null) {
            word = scanner.string(from, to);
            words.put(from, to, hash, word);
        }
        return word;
    }
}

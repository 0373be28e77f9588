package dev.drover.ir.graph;

import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One application of an op. Immutable, made by a {@link ComputationBuilder} and owned by exactly one {@link Computation}, in
 * which {@link #id} is its position: operands come before users, so arrays indexed by id serve as maps.
 *
 * <p>Annotations are what a file says about an instruction that does not change its meaning, verbatim and in order:
 * {@code metadata}, {@code sharding}, {@code frontend_attributes}, {@code backend_config}, ..
 */
public final class Instruction {
    private final int id;
    private final String name;
    private final Op op;
    private final List<Instruction> operands;
    private final Shape shape;
    private final Map<String, String> annotations;
    /** Made when first asked for, because it is asked for often; whoever makes it makes the same. */
    private @Nullable List<Shape> operandShapes;

    private @Nullable FactorRule factors;

    Instruction(int id, String name, Op op, List<Instruction> operands, Shape shape, Map<String, String> annotations) {
        this.id = id;
        this.name = name;
        this.op = op;
        this.operands = operands;
        this.shape = shape;
        this.annotations = annotations;
    }

    /** Position in its computation. */
    public int id() {
        return id;
    }

    /** Unique in its computation, without a leading percent sign. */
    public String name() {
        return name;
    }

    public Op op() {
        return op;
    }

    public List<Instruction> operands() {
        return operands;
    }

    public Instruction operand(int index) {
        return operands.get(index);
    }

    public Shape shape() {
        return shape;
    }

    /** Whether a tuple is all that it takes: an element of one, a loop. Such an instruction is made with its tuple. */
    public boolean takesATuple() {
        return operands.size() == 1 && operands.get(0).shape instanceof TupleShape;
    }

    /** Whether a name can have it: ASCII letters and digits, {@code _ . -}, and all that is not ASCII. */
    public static boolean isNameSign(char c) {
        boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c >= 128;
    }

    /** The shape of an instruction that yields an array. */
    public ArrayShape array() {
        return shape.asArray();
    }

    public List<Shape> operandShapes() {
        List<Shape> made = operandShapes;
        if (made == null) {
            Shape[] shapes = new Shape[operands.size()];
            for (int i = 0; i < shapes.length; i++) {
                shapes[i] = operands.get(i).shape;
            }
            made = List.of(shapes);
            operandShapes = made;
        }
        return made;
    }

    /** The op's sharding rule on these shapes. */
    public FactorRule factors() {
        FactorRule made = factors;
        if (made == null) {
            made = op.factors(operandShapes(), shape);
            factors = made;
        }
        return made;
    }

    public Map<String, String> annotations() {
        return annotations;
    }

    @Override
    public String toString() {
        return name + " = " + shape + " " + op.opcode()
                + operands.stream().map(Instruction::name).collect(Collectors.joining(", ", "(", ")"));
    }
}

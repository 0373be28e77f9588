package dev.drover.backend.torch.kernel;

import java.nio.FloatBuffer;
import java.util.List;

/**
 * Evaluates a chain of elementwise f32 ops block by block: a block of each input is copied from memory to arrays, the ops run over
 * the arrays one after another (each a loop that the JIT vectorises), and the results are copied back. So the chain reads and
 * writes memory once, whatever its length; what is between stays in the cache. Rounding is that of the ops one by one.
 *
 * <p>One instance per thread.
 */
final class BlockLoop {
    /** An op on registers: {@code target = left op right}. */
    record Op(Kind kind, int target, int left, int right) {}

    /** What a chain can do. */
    enum Kind {
        ADD,
        SUBTRACT,
        MULTIPLY,
        DIVIDE,
        MAXIMUM,
        MINIMUM,
        SQRT,
        NEGATE,
        ABS
    }

    /** How an input runs along the elements, which come in rows of {@code width}. */
    enum Along {
        /** One value for each element. */
        ELEMENTS,
        /** The same row again and again. */
        ROWS,
        /** One value for each row. */
        COLUMNS,
        /** One value. */
        ONCE
    }

    /** An input and the register that holds its block. */
    record Input(Along along, int register) {}

    private final List<Input> inputs;
    private final Op[] ops;
    private final int[] outputs;
    private final int width;
    private final int block;
    private final float[][] registers;
    private final float[] column;

    /**
     * @param outputs registers that are written back
     * @param width elements of a row
     * @param block elements of a block, a multiple of the width or a divisor of it where no input runs along rows or columns
     */
    BlockLoop(List<Input> inputs, List<Op> ops, List<Integer> outputs, int registerCount, int width, int block) {
        this.inputs = inputs;
        this.ops = ops.toArray(Op[]::new);
        this.outputs = outputs.stream().mapToInt(Integer::intValue).toArray();
        this.width = width;
        this.block = block;
        this.registers = new float[registerCount][block];
        this.column = new float[Math.max(1, block / width)];
    }

    /** Runs over blocks [from, to) of {@code count} elements. */
    void run(FloatBuffer[] in, FloatBuffer[] out, long count, long from, long to) {
        for (int i = 0; i < in.length; i++) {
            Input input = inputs.get(i);
            float[] register = registers[input.register()];
            if (input.along() == Along.ONCE) {
                java.util.Arrays.fill(register, in[i].get(0));
            } else if (input.along() == Along.ROWS) {
                for (int at = 0; at < block; at += width) {
                    in[i].get(0, register, at, Math.min(width, block - at));
                }
            }
        }
        for (long b = from; b < to; b++) {
            int start = (int) (b * block);
            int n = (int) Math.min(block, count - start);
            for (int i = 0; i < in.length; i++) {
                Input input = inputs.get(i);
                if (input.along() == Along.ELEMENTS) {
                    in[i].get(start, registers[input.register()], 0, n);
                } else if (input.along() == Along.COLUMNS) {
                    int rows = n / width;
                    in[i].get(start / width, column, 0, rows);
                    for (int row = 0; row < rows; row++) {
                        java.util.Arrays.fill(registers[input.register()], row * width, (row + 1) * width, column[row]);
                    }
                }
            }
            for (Op op : ops) {
                apply(op.kind(), registers[op.target()], registers[op.left()], registers[op.right()], n);
            }
            for (int i = 0; i < out.length; i++) {
                out[i].put(start, registers[outputs[i]], 0, n);
            }
        }
    }

    private static void apply(Kind kind, float[] z, float[] x, float[] y, int n) {
        switch (kind) {
            case ADD -> add(z, x, y, n);
            case SUBTRACT -> subtract(z, x, y, n);
            case MULTIPLY -> multiply(z, x, y, n);
            case DIVIDE -> divide(z, x, y, n);
            case MAXIMUM -> maximum(z, x, y, n);
            case MINIMUM -> minimum(z, x, y, n);
            case SQRT -> sqrt(z, x, n);
            case NEGATE -> negate(z, x, n);
            case ABS -> abs(z, x, n);
        }
    }

    // One method per loop, so that each is compiled, and vectorised, for itself.

    private static void add(float[] z, float[] x, float[] y, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = x[i] + y[i];
        }
    }

    private static void subtract(float[] z, float[] x, float[] y, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = x[i] - y[i];
        }
    }

    private static void multiply(float[] z, float[] x, float[] y, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = x[i] * y[i];
        }
    }

    private static void divide(float[] z, float[] x, float[] y, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = x[i] / y[i];
        }
    }

    private static void maximum(float[] z, float[] x, float[] y, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = Math.max(x[i], y[i]);
        }
    }

    private static void minimum(float[] z, float[] x, float[] y, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = Math.min(x[i], y[i]);
        }
    }

    private static void sqrt(float[] z, float[] x, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = (float) Math.sqrt(x[i]);
        }
    }

    private static void negate(float[] z, float[] x, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = -x[i];
        }
    }

    private static void abs(float[] z, float[] x, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = Math.abs(x[i]);
        }
    }
}

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
        ABS,
        /** {@code x / 2 (1 + tanh(u))} with {@code u = sqrt(2 / pi) (x + 0.044715 x^3)}. */
        GELU,
        /** The gradient of that, of g and x. */
        GELU_GRADIENT
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
    private final float[] scratch;

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
        this.scratch = new float[block];
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

    private void apply(Kind kind, float[] z, float[] x, float[] y, int n) {
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
            case GELU -> {
                geluTanh(scratch, x, n);
                gelu(z, x, scratch, n);
            }
            case GELU_GRADIENT -> {
                geluTanh(scratch, y, n);
                geluGradient(z, x, y, scratch, n);
            }
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

    // sqrt(2 / pi) and the weight of the cube in the tanh form of GELU.
    private static final float SCALE = 0.7978846f;
    private static final float CUBIC = 0.044715f * SCALE;

    // tanh(u) = u p(u^2) / q(u^2) up to the limit, from where on a float's tanh is 1. Fitted by weighted least squares
    // to an equal
    // relative error, which is 8e-10; with the rounding of floats it is 3.4e-7. libtorch's tanh is no loop that can be
    // joined.
    private static final float LIMIT = 8.6f;
    private static final float P1 = 0.13699391f;
    private static final float P2 = 0.0038927917f;
    private static final float P3 = 2.850515e-5f;
    private static final float P4 = 3.1801463e-8f;
    private static final float P5 = -1.3127786e-11f;
    private static final float Q1 = 0.47032723f;
    private static final float Q2 = 0.027335217f;
    private static final float Q3 = 3.981902e-4f;
    private static final float Q4 = 1.3223867e-6f;

    /** The tanh in GELU. In a loop of its own, for the JIT vectorises none that is much longer. */
    private static void geluTanh(float[] z, float[] x, int n) {
        for (int i = 0; i < n; i++) {
            float at = x[i];
            float u = Math.max(-LIMIT, Math.min(LIMIT, at * (SCALE + CUBIC * (at * at))));
            float s = u * u;
            float p = u * (1 + s * (P1 + s * (P2 + s * (P3 + s * (P4 + s * P5)))));
            float q = 1 + s * (Q1 + s * (Q2 + s * (Q3 + s * Q4)));
            z[i] = p / q;
        }
    }

    private static void gelu(float[] z, float[] x, float[] tanh, int n) {
        for (int i = 0; i < n; i++) {
            z[i] = 0.5f * x[i] * (1 + tanh[i]);
        }
    }

    private static void geluGradient(float[] z, float[] g, float[] x, float[] tanh, int n) {
        for (int i = 0; i < n; i++) {
            float t = tanh[i];
            float slope = x[i] * (SCALE + 3 * CUBIC * (x[i] * x[i]));
            z[i] = 0.5f * g[i] * ((1 + t) + (1 - t * t) * slope);
        }
    }
}

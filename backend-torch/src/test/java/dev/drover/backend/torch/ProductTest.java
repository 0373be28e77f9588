package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Products of f32 matrices, in every order of dims and on two threads, equal the reference evaluator's. */
class ProductTest {
    private static final TorchMemory MEMORY = new TorchMemory();
    private static final long SEED = Long.getLong("seed", 11);

    @BeforeAll
    static void twoThreads() {
        LibTorch.setThreads(2);
    }

    @AfterAll
    static void oneThread() {
        LibTorch.setThreads(1);
    }

    private static ArrayShape f32(long... dims) {
        return ArrayShape.of(DType.F32, dims);
    }

    private static List<Integer> shuffled(int count, Random random) {
        List<Integer> out = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            out.add(random.nextInt(out.size() + 1), i);
        }
        return out;
    }

    /** Dims with these sizes in a random order: the shape, and by dim of the list where it is. */
    private record Operand(ArrayShape shape, List<Integer> places) {
        static Operand of(List<Long> sizes, Random random) {
            List<Integer> places = shuffled(sizes.size(), random);
            long[] dims = new long[sizes.size()];
            for (int i = 0; i < dims.length; i++) {
                dims[places.get(i)] = sizes.get(i);
            }
            return new Operand(f32(dims), places);
        }
    }

    @Test
    void randomProducts() {
        Random random = new Random(SEED);
        for (int trial = 0; trial < 60; trial++) {
            int batch = random.nextInt(3);
            List<Long> lhs = new ArrayList<>();
            List<Long> rhs = new ArrayList<>();
            for (int i = 0; i < batch; i++) {
                long size = 1L + random.nextInt(5);
                lhs.add(size);
                rhs.add(size);
            }
            long k = 1L + random.nextInt(40);
            lhs.add(k);
            rhs.add(k);
            lhs.add(1L + random.nextInt(50));
            rhs.add(1L + random.nextInt(50));
            Operand a = Operand.of(lhs, random);
            Operand b = Operand.of(rhs, random);
            Dot dot = new Dot(
                    a.places.subList(0, batch),
                    b.places.subList(0, batch),
                    List.of(a.places.get(batch)),
                    List.of(b.places.get(batch)),
                    DType.F32);
            String what = "seed " + SEED + " trial " + trial + " " + a + " " + b;
            Computation computation = Check.build(
                    List.of(a.shape, b.shape), (o, p) -> o.builder().add(dot, o.mul(p.get(0), 0.1), p.get(1)));
            assertThat(Check.same(MEMORY, computation, trial)).as(what).hasSize(1);
        }
    }

    /** Large enough to be cut in tiles, and with sums long enough to be cut by a library. */
    @Test
    void largeProducts() {
        for (int lhs = 0; lhs < 2; lhs++) {
            for (int rhs = 0; rhs < 2; rhs++) {
                int left = lhs;
                int right = rhs;
                Computation computation = Check.build(
                        List.of(left == 0 ? f32(300, 500) : f32(500, 300), right == 0 ? f32(500, 200) : f32(200, 500)),
                        (o, p) -> {
                            // Smaller elements, so that the tolerance for elements near 1 fits the sums.
                            Instruction x = o.mul(p.get(0), 0.05);
                            return o.builder().add(Dot.contracting(1 - left, right, DType.F32), x, p.get(1));
                        });
                Check.same(MEMORY, computation, SEED + 2L * left + right);
            }
        }
    }

    /** Rows of the left operand are pages apart, so that its tiles are copied; and several of them in a batch. */
    @Test
    void largeProductsOfColumnsPagesApart() {
        Computation computation = Check.build(List.of(f32(70, 1024), f32(70, 130)), (o, p) -> {
            Instruction x = o.mul(p.get(0), 0.1);
            return o.builder().add(Dot.contracting(0, 0, DType.F32), x, p.get(1));
        });
        Check.same(MEMORY, computation, SEED);
        Dot batched = new Dot(List.of(0), List.of(0), List.of(1), List.of(1), DType.F32);
        Computation batch = Check.build(List.of(f32(2, 33, 1024), f32(2, 33, 130)), (o, p) -> {
            Instruction x = o.mul(p.get(0), 0.1);
            return o.builder().add(batched, x, p.get(1));
        });
        Check.same(MEMORY, batch, SEED);
    }

    /** Attention's chain of products, whose results lie as the next one reads them. */
    @Test
    void resultsLieAsTheyAreRead() {
        Dot scores = new Dot(List.of(0, 2), List.of(0, 2), List.of(3), List.of(3), DType.F32);
        Dot mixed = new Dot(List.of(0, 1), List.of(0, 2), List.of(3), List.of(1), DType.F32);
        Dot out = new Dot(List.of(), List.of(), List.of(1, 3), List.of(0, 1), DType.F32);
        Computation computation = Check.build(List.of(f32(3, 7, 2, 5), f32(3, 6, 2, 5), f32(2, 5, 9)), (o, p) -> {
            Instruction s = o.builder().add(scores, p.get(0), p.get(1));
            Instruction y = o.builder().add(mixed, o.mul(s, 0.1), p.get(1));
            Instruction turned = o.transpose(y, 0, 2, 1, 3);
            return o.tuple(o.builder().add(out, y, p.get(2)), o.neg(turned), y);
        });
        List<Literal> made = Check.same(MEMORY, computation, SEED);
        assertThat(made.get(2).shape()).isEqualTo(f32(3, 2, 7, 5));
        // Two products, the scaling, the negation, the last product and one copy of y, which is an output, to
        // row-major.
        try (TorchProgram program = TorchProgram.compile(computation, TorchOptions.of(MEMORY))) {
            assertThat(program.stepCount()).isEqualTo(6);
        }
    }
}

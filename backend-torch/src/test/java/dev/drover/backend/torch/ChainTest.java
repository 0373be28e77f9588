package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Chains of elementwise ops give the bits of the ops one by one. */
class ChainTest {
    private static final TorchMemory MEMORY = new TorchMemory();

    private static ArrayShape f32(long... dims) {
        return ArrayShape.of(DType.F32, dims);
    }

    private static List<Literal> bits(Computation computation, int mostSteps) {
        Random random = new Random(3);
        List<Literal> inputs = new ArrayList<>();
        computation.parameters().forEach(p -> inputs.add(Check.random(p.array(), random)));
        TorchOptions options = TorchOptions.of(MEMORY);
        try (TorchProgram fused = TorchProgram.compile(computation, options);
                TorchProgram plain = TorchProgram.compile(computation, options.withFuse(false))) {
            assertThat(fused.stepCount()).isLessThanOrEqualTo(mostSteps);
            List<Literal> actual = fused.runLiterals(inputs);
            assertThat(actual).isEqualTo(plain.runLiterals(inputs));
            return actual;
        }
    }

    private static Instruction adam(OpBuilder b, List<Instruction> p) {
        Instruction m = b.add(b.mul(p.get(2), 0.9), b.mul(p.get(1), 0.1));
        Instruction v = b.add(b.mul(p.get(3), 0.99), b.mul(b.mul(p.get(1), p.get(1)), 0.01));
        Instruction rate = b.broadcastTo(p.get(4), p.get(0).array());
        Instruction change = b.mul(b.div(m, b.add(b.sqrt(b.abs(v)), 1e-3)), rate);
        return b.tuple(b.sub(p.get(0), change), m, v);
    }

    @Test
    void anUpdateIsOneStep() {
        ArrayShape w = f32(17, 1000);
        Computation computation = Check.build(List.of(w, w, w, w, f32()), ChainTest::adam);
        bits(computation, 1);
        Check.same(MEMORY, computation, 5);
    }

    @Test
    void anUpdateHappensInPlace() {
        ArrayShape w = f32(40, 2000);
        Computation computation = Check.build(List.of(w, w, w, w, f32()), ChainTest::adam);
        List<Literal> expected = bits(computation, 1);
        Random random = new Random(3);
        List<TorchTensor> inputs = new ArrayList<>();
        computation.parameters().forEach(p -> inputs.add(TorchTensor.of(MEMORY, Check.random(p.array(), random))));
        TorchOptions options = TorchOptions.of(MEMORY).withDonations(Map.of(0, 0, 1, 2, 2, 3));
        try (TorchProgram program = TorchProgram.compile(computation, options)) {
            assertThat(program.donationsKept()).isEqualTo(3);
            List<Long> addresses =
                    List.of(0, 2, 3).stream().map(i -> inputs.get(i).address()).toList();
            List<TorchTensor> outputs = program.run(inputs);
            assertThat(outputs.stream().map(TorchTensor::toLiteral).toList()).isEqualTo(expected);
            assertThat(outputs.stream().map(TorchTensor::address).toList()).isEqualTo(addresses);
            assertThat(inputs.get(0).isOpen()).isFalse();
            assertThat(inputs.get(1).isOpen()).isTrue();
            outputs.forEach(TorchTensor::close);
        }
        inputs.forEach(TorchTensor::close);
    }

    @Test
    void rowsColumnsAndTransposes() {
        Computation computation = Check.build(List.of(f32(33, 300), f32(300), f32(33), f32(300, 33)), (b, p) -> {
            ArrayShape whole = f32(33, 300);
            Instruction row = b.broadcast(p.get(1), whole.dims(), 1);
            Instruction column = b.broadcast(p.get(2), whole.dims(), 0);
            Instruction x = b.max(b.sub(p.get(0), column), row);
            return b.mul(b.neg(b.add(x, b.transpose(p.get(3), 1, 0))), b.min(x, 0.5));
        });
        bits(computation, 3);
        Check.same(MEMORY, computation, 6);
        // All operands transposed alike: no copy, and the result lies as they do.
        bits(
                Check.build(List.of(f32(300, 33), f32(300, 33)), (b, p) -> {
                    Instruction x = b.transpose(p.get(0), 1, 0);
                    return b.add(b.mul(x, b.transpose(p.get(1), 1, 0)), x);
                }),
                2);
    }

    /** Once the readers of x are one step, those of y must not become one: the path from the later to the earlier goes through x's. */
    @Test
    void noCyclesThroughStepsThatReachBack() {
        Computation computation = Check.build(List.of(f32(32, 512), f32(32, 512)), (b, p) -> {
            Instruction c = b.mul(p.get(0), 2);
            Instruction first = b.broadcast(b.sum(c, 1), new long[] {32, 512}, 0);
            Instruction e = b.add(p.get(1), first);
            Instruction a = b.mul(p.get(1), 3);
            Instruction second = b.broadcast(b.sum(a, 1), new long[] {32, 512}, 0);
            return b.tuple(e, b.add(p.get(0), second));
        });
        bits(computation, 8);
    }

    /** The sum needs the first product and gives to the last one: they must not become one step. */
    @Test
    void noCycles() {
        Computation computation = Check.build(List.of(f32(32, 512)), (b, p) -> {
            Instruction x = b.mul(p.get(0), 2);
            Instruction y = b.add(x, 1);
            Instruction total = b.broadcast(b.sum(y, 1), new long[] {32, 512}, 0);
            return b.add(b.mul(y, total), x);
        });
        bits(computation, 3);
        Check.same(MEMORY, computation, 8);
    }
}

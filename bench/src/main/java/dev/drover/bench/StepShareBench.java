package dev.drover.bench;

import dev.drover.backend.torch.LibTorch;
import dev.drover.backend.torch.TorchMemory;
import dev.drover.backend.torch.TorchOptions;
import dev.drover.backend.torch.TorchProgram;
import dev.drover.backend.torch.TorchTensor;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import org.bytedeco.pytorch.AutoDispatchBelowADInplaceOrView;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * What a step of a compiled program costs beside the kernel: a program of additions of four numbers against the same library calls in
 * a plain loop; the difference is the program's share.
 * What Java and JNI take of the call itself is inside both numbers, so the first is the bound of everything.
 *
 * <pre>
 *   java -cp CLASSES dev.drover.bench.StepShareBench [threads]
 * </pre>
 */
public final class StepShareBench {
    private static final int OPS = 2000;
    private static final int RUNS = 300;
    private static final int ROUNDS = 7;

    private StepShareBench() {}

    public static void main(String[] args) {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        LibTorch.setThreads(threads);
        ArrayShape shape = ArrayShape.of(DType.F32, 4);
        ComputationBuilder builder = new ComputationBuilder("additions");
        OpBuilder ops = new OpBuilder(builder);
        Instruction x = ops.parameter("x", shape);
        Instruction y = ops.parameter("y", shape);
        Instruction sum = x;
        for (int i = 0; i < OPS; i++) {
            sum = ops.add(sum, y);
        }
        try (TorchMemory memory = new TorchMemory();
                TorchProgram program = TorchProgram.compile(builder.build(sum), TorchOptions.of(memory));
                TorchTensor a = TorchTensor.empty(memory, shape);
                TorchTensor b = TorchTensor.empty(memory, shape);
                TorchTensor c = TorchTensor.empty(memory, shape)) {
            a.nativeTensor().zero_();
            b.nativeTensor().zero_();
            double ours = best(() -> program.run(List.of(a, b)).get(0).close()) / program.stepCount();
            Tensor in = a.nativeTensor();
            Tensor other = b.nativeTensor();
            Tensor out = c.nativeTensor();
            double plain;
            try (AutoDispatchBelowADInplaceOrView guard = new AutoDispatchBelowADInplaceOrView()) {
                plain = best(() -> {
                            for (int i = 0; i < OPS; i++) {
                                torch.add_out(out, in, other);
                            }
                        })
                        / OPS;
            }
            System.out.printf(
                    "%d threads: each of %d steps of a program %.0f ns, the same call in a loop %.0f ns, the program's share %.0f ns%n",
                    threads, program.stepCount(), ours, plain, ours - plain);
        }
    }

    /** Nanoseconds of one run, the best round. */
    private static double best(Runnable body) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < RUNS; i++) {
                body.run();
            }
            best = Math.min(best, (System.nanoTime() - start) / (double) RUNS);
        }
        return best;
    }
}

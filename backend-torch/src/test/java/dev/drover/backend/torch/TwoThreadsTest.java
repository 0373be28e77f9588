package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** A training step of which two threads take the pieces as they come: the same bits whoever takes what, and those of one thread nearly. */
class TwoThreadsTest {
    private static final TorchMemory MEMORY = new TorchMemory();

    @AfterAll
    static void oneThread() {
        LibTorch.setThreads(1);
    }

    /** Takes processors away from time to time. */
    private static Thread disturbance(long seed) {
        Thread thread = new Thread(() -> {
            Random random = new Random(seed);
            while (!Thread.currentThread().isInterrupted()) {
                long end = System.nanoTime() + random.nextInt(3_000_000);
                while (System.nanoTime() < end) {
                    Thread.onSpinWait();
                }
                try {
                    Thread.sleep(0, random.nextInt(999_999));
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    @Test
    void bitsDoNotDependOnWhoTakesWhat() {
        // Large enough for tiles of products, shared chains, norms and softmax.
        Model model = Zoo.parse("gpt:layers=2,hidden=128,heads=4,seq=64,batch=6,vocab=19");
        List<Literal> inputs = Check.inputs(model);
        TorchOptions options = TorchOptions.of(MEMORY);
        LibTorch.setThreads(1);
        List<Literal> one;
        try (TorchProgram program = TorchProgram.compile(model.step().graph().entry(), options)) {
            one = program.runLiterals(inputs);
        }
        LibTorch.setThreads(2);
        List<Thread> disturbances = List.of(disturbance(1), disturbance(2));
        try (TorchProgram program = TorchProgram.compile(model.step().graph().entry(), options)) {
            List<Literal> first = program.runLiterals(inputs);
            for (int run = 1; run < 20; run++) {
                List<Literal> again = program.runLiterals(inputs);
                for (int i = 0; i < first.size(); i++) {
                    assertThat(again.get(i).equals(first.get(i)))
                            .as("output %d of run %d", i, run)
                            .isTrue();
                }
            }
            for (int i = 0; i < first.size(); i++) {
                // Adam's first step divides a gradient by its size: where that is nearly zero, the direction is noise.
                double mean = 0;
                for (int j = 0; j < one.get(i).size(); j++) {
                    mean += Math.abs(one.get(i).asDouble(j) - first.get(i).asDouble(j))
                            / one.get(i).size();
                }
                assertThat(mean).as("mean difference of output %d", i).isLessThan(1e-5);
            }
        } finally {
            disturbances.forEach(Thread::interrupt);
        }
    }
}

package dev.drover.backend.torch.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LoopThreadTest {
    private static final int POLICY = 40;
    private static final String BATCH = "3";

    @Test
    void theThreadsThatAreStartedWaitForThoseThatRunAndTheStarterStaysAsItIs() throws Exception {
        assumeThat(Path.of("/usr/bin/chrt"))
                .as("the command that sets policies")
                .exists();
        BlockingQueue<Path> threads = new LinkedBlockingQueue<>();
        CountDownLatch end = new CountDownLatch(1);
        String own = policy(Path.of("/proc/thread-self").toRealPath());
        Path started = LoopThread.withBatchPolicy(() -> {
            Thread thread = new Thread(() -> {
                try {
                    threads.add(Path.of("/proc/thread-self").toRealPath());
                    boolean unused = end.await(1, TimeUnit.MINUTES);
                } catch (java.io.IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.start();
            try {
                Path path = threads.poll(1, TimeUnit.MINUTES);
                assertThat(path).isNotNull();
                return path;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertThat(policy(started)).isEqualTo(BATCH);
        assertThat(policy(Path.of("/proc/thread-self").toRealPath()))
                .isEqualTo(own)
                .isNotEqualTo(BATCH);
        end.countDown();
    }

    /** The 41st field of a thread's statistics, counted after the name in parentheses. */
    private static String policy(Path thread) throws java.io.IOException {
        String text = Files.readString(thread.resolve("stat"));
        List<String> afterName =
                List.of(text.substring(text.lastIndexOf(')') + 2).split(" "));
        return afterName.get(POLICY - 2);
    }
}

package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.cluster.CachedCalibration;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Calibration.Figures;
import dev.drover.plan.cluster.Measured;
import dev.drover.testkit.ProcessCluster;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 120, unit = TimeUnit.SECONDS)
class MeasuringAloneTest {
    private static final long DEADLINE_SECONDS = 60;
    private static final Figures FIGURES = new Figures(1, Map.of("f32", 1e9), 1L << 30, 1e9, 1, 1e9, 1, Measured.NONE);

    @TempDir
    Path folder;

    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    /** Another process, which has the lock until it is ended. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] args) throws Exception {
            Path lock = Path.of(args[0]);
            try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock taken = channel.lock()) {
                System.out.println("locked " + taken.isValid());
                Thread.sleep(TimeUnit.SECONDS.toMillis(10 * DEADLINE_SECONDS));
            }
        }
    }

    private MeasuringAlone alone(Calibration measuring) {
        return new MeasuringAlone(
                folder.resolve("measuring"),
                new CachedCalibration(folder.resolve("calibration-1/figures.json"), measuring, lines::add),
                lines::add);
    }

    /** Of some that begin at once one measures, for itself; the others take what it found. */
    @Test
    void oneMeasuresForAll() throws Exception {
        AtomicInteger now = new AtomicInteger();
        AtomicInteger measured = new AtomicInteger();
        Callable<Figures> measure = () -> alone(() -> {
                    assertThat(now.incrementAndGet()).isEqualTo(1);
                    while (lines.isEmpty()) {
                        Thread.onSpinWait();
                    }
                    measured.incrementAndGet();
                    now.decrementAndGet();
                    return FIGURES;
                })
                .measure();
        ExecutorService threads = Executors.newFixedThreadPool(3);
        try {
            for (Future<Figures> found : threads.invokeAll(List.of(measure, measure, measure))) {
                assertThat(found.get()).isEqualTo(FIGURES);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(measured).hasValue(1);
        assertThat(lines).isNotEmpty().allMatch(line -> line.contains("is measuring this machine; waiting"));
        lines.clear();
        assertThat(alone(() -> {
                            throw new IllegalStateException("The figures must be kept.");
                        })
                        .measure())
                .isEqualTo(FIGURES);
        assertThat(lines).isEmpty();
    }

    /** A process that is killed while it measures leaves no lock behind. */
    @Test
    void whoeverHasItMayDie() throws Exception {
        Path lock = folder.resolve("measuring");
        Process holder = CommandRun.java(32, Holder.class, lock.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        ExecutorService waiting = Executors.newSingleThreadExecutor();
        try {
            assertThat(holder.inputReader().readLine()).isEqualTo("locked true");
            Future<Figures> found = waiting.submit(() -> alone(() -> FIGURES).measure());
            while (lines.isEmpty()) {
                Thread.sleep(20);
            }
            assertThat(found.isDone()).isFalse();
            holder.destroyForcibly();
            assertThat(found.get(DEADLINE_SECONDS, TimeUnit.SECONDS)).isEqualTo(FIGURES);
            assertThat(lines).hasSize(1);
        } finally {
            waiting.shutdownNow();
            holder.destroyForcibly();
            ProcessCluster.assertGone(List.of(holder.pid()));
        }
    }

    /** Where there can be no lock and nothing can be kept, such as in a folder that cannot be made, it is measured all the same. */
    @Test
    void withoutALockOrAFileItIsMeasuredToo() throws IOException {
        Path below = Files.writeString(folder.resolve("file"), "").resolve("below");
        for (Path kept : List.of(folder.resolve("figures.json"), below.resolve("figures.json"))) {
            CachedCalibration cached = new CachedCalibration(kept, () -> FIGURES, lines::add);
            assertThat(new MeasuringAlone(below.resolve("measuring"), cached, lines::add).measure())
                    .isEqualTo(FIGURES);
        }
        assertThat(lines)
                .singleElement()
                .asString()
                .contains("cannot be kept in " + below.resolve("figures.json"), "the next run measures again");
    }
}

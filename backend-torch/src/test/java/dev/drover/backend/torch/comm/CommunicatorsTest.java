package dev.drover.backend.torch.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.drover.runtime.WorkerFailure;
import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.testkit.ProcessCluster;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Four real workers and their communicators. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class CommunicatorsTest {

    private static final ClusterOptions OPTIONS = ClusterOptions.of(CommWorkerMain.class.getName());
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final List<List<Integer>> GROUPS = List.of(
            List.of(0, 1), List.of(2, 3), List.of(2, 0), List.of(1, 3), List.of(0), List.of(1), List.of(2), List.of(3));

    @Test
    void collectivesGiveWhatPlainJavaGives() {
        try (ProcessCluster processes = ProcessCluster.start("collectives", OPTIONS, 4)) {
            Cluster cluster = processes.cluster();
            cluster.connect(GROUPS.subList(0, 2), PATIENCE);
            cluster.connect(GROUPS, PATIENCE);
            for (String group : List.of("world", "rows", "crossed", "alone")) {
                run(cluster, group + " cases");
            }
            run(cluster, "world order");
            run(cluster, "world large");
        }
    }

    private static void run(Cluster cluster, String program) {
        load(cluster, program);
        cluster.run(0, 1, reports -> assertThat(reports).hasSize(cluster.size()));
    }

    private static void load(Cluster cluster, String program) {
        assertThat(cluster.load(rank -> program.getBytes(StandardCharsets.UTF_8), Map.of()))
                .hasSize(cluster.size());
    }

    @Test
    void aWorkerKilledInACollectiveIsNamed() throws InterruptedException {
        try (ProcessCluster processes = ProcessCluster.start("killed-in-collective", OPTIONS, 4)) {
            Cluster cluster = processes.cluster();
            cluster.connect(List.of(), PATIENCE);
            load(cluster, "world endless");
            long[] killedNanos = {0};
            Thread killer = new Thread(() -> {
                try {
                    Thread.sleep(1500);
                } catch (InterruptedException e) {
                    return;
                }
                killedNanos[0] = System.nanoTime();
                processes.kill(2);
            });
            killer.start();
            WorkerFailure failure = catchThrowableOfType(WorkerFailure.class, () -> cluster.run(0, 1, reports -> {}));
            long elapsedNanos = System.nanoTime() - killedNanos[0];
            killer.join();
            assertThat(failure.rank()).isEqualTo(2);
            assertThat(failure.task()).startsWith("all-reduce ");
            assertThat(failure.reason()).contains("signal 9");
            assertThat(failure.lastLogLines()).isNotEmpty();
            assertThat(elapsedNanos).isLessThan(TimeUnit.SECONDS.toNanos(5));
        }
    }

    @Test
    void aPeerThatDoesNotAnswerEndsTheWait() {
        try (ProcessCluster processes = ProcessCluster.start("late", OPTIONS, 2)) {
            Cluster cluster = processes.cluster();
            cluster.connect(List.of(), Duration.ofSeconds(3));
            load(cluster, "world late");
            WorkerFailure failure = catchThrowableOfType(WorkerFailure.class, () -> cluster.run(0, 1, reports -> {}));
            assertThat(failure.rank()).isEqualTo(1);
            assertThat(failure.task()).isEqualTo("all-reduce");
            assertThat(failure.reason()).containsIgnoringCase("timed out");
        }
    }

    /** Four workers that unpack the native libraries at once crash unless they take turns. */
    @Test
    void aColdCacheIsFilledByOneWorkerAtATime() throws IOException {
        Path cache = Files.createDirectories(
                Path.of("target", "cold-cache-" + System.nanoTime()).toAbsolutePath());
        String cacheOption = "-Dorg.bytedeco.javacpp.cachedir=" + cache;
        try (ProcessCluster processes = ProcessCluster.start("cold-cache", OPTIONS, 4, cacheOption)) {
            processes.cluster().connect(List.of(), PATIENCE);
            run(processes.cluster(), "world order");
        } finally {
            delete(cache);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}

package dev.drover.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.launch.LocalLauncher;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Real worker processes on loopback for a test. The log of each rank is kept under {@code target/clusters/NAME}; closing asserts that no
 * process is left.
 */
public final class ProcessCluster implements AutoCloseable {

    private static final long GONE_DEADLINE_MILLIS = 5000;

    private final Cluster cluster;
    private final Path logFolder;
    private final List<Long> pids = new ArrayList<>();

    private ProcessCluster(Cluster cluster, Path logFolder) {
        this.cluster = cluster;
        this.logFolder = logFolder;
        for (int rank = 0; rank < cluster.size(); rank++) {
            pids.add(cluster.pid(rank));
        }
    }

    /** Starts workers with one kernel thread each. */
    public static ProcessCluster start(String name, ClusterOptions options, int workers, String... jvmOptions) {
        return new ProcessCluster(Cluster.start(options, launcher(name, jvmOptions), workers), logFolder(name));
    }

    /** The launcher that {@link #start} uses, for tests in which the start fails. */
    public static LocalLauncher launcher(String name, String... jvmOptions) {
        List<String> options =
                new ArrayList<>(List.of("-Xmx512m", "-XX:+UseSerialGC", "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0"));
        options.addAll(List.of(jvmOptions));
        return new LocalLauncher(logFolder(name), 1, options);
    }

    private static Path logFolder(String name) {
        return Path.of("target", "clusters", name).toAbsolutePath();
    }

    public Cluster cluster() {
        return cluster;
    }

    public Path logFolder() {
        return logFolder;
    }

    /** Ends a worker as the operating system would for lack of memory. */
    public void kill(int rank) {
        signal("-KILL", rank);
    }

    /** Lets a worker hang: it exists, but does nothing. */
    public void suspend(int rank) {
        signal("-STOP", rank);
    }

    private void signal(String signal, int rank) {
        try {
            Process kill = new ProcessBuilder("kill", signal, Long.toString(pids.get(rank)))
                    .inheritIO()
                    .start();
            assertThat(kill.waitFor(5, TimeUnit.SECONDS)).isTrue();
            assertThat(kill.exitValue()).isZero();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        cluster.close();
        assertGone(pids);
    }

    /** Asserts that none of these processes lives, or will in a few seconds. */
    public static void assertGone(List<Long> pids) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GONE_DEADLINE_MILLIS);
        while (pids.stream().anyMatch(ProcessCluster::isAlive) && System.nanoTime() < deadline) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        assertThat(pids.stream().filter(ProcessCluster::isAlive))
                .as("worker processes left behind")
                .isEmpty();
    }

    private static boolean isAlive(long pid) {
        return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
    }
}

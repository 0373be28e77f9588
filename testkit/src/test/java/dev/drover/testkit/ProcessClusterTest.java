package dev.drover.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.WorkerFailure;
import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.wire.HostTensor;
import dev.drover.runtime.wire.Wire;
import dev.drover.runtime.worker.StepReport;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Life and death of worker processes, without tensors. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
final class ProcessClusterTest {

    private static final ClusterOptions OPTIONS = ClusterOptions.of(PlainWorkerMain.class.getName());

    @Test
    void stepsRunAndValuesTravel() throws IOException {
        HostTensor large = HostTensor.allocate(ArrayShape.of(DType.F32, 5, 1_000_003));
        new Random(7).nextBytes(large.data().array());
        List<StepReport> reports = new ArrayList<>();
        Path logs;
        try (ProcessCluster processes = ProcessCluster.start("steps", OPTIONS.withPieceBytes(1 << 20), 2)) {
            logs = processes.logFolder();
            Cluster cluster = processes.cluster();
            assertThat(cluster.load(rank -> bytes("work" + rank), Map.of()))
                    .containsExactly(Map.of("word", "work0"), Map.of("word", "work1"));
            cluster.putAll(List.of(Cluster.Put.of(1, "large", large)));
            assertThat(fetched(cluster, 1, "large")).isEqualTo(large);
            HostTensor empty = HostTensor.allocate(ArrayShape.of(DType.BF16, 0, 3));
            cluster.putAll(List.of(Cluster.Put.of(0, "empty", empty)));
            assertThat(fetched(cluster, 0, "empty")).isEqualTo(empty);
            cluster.putAll(List.of(
                    Cluster.Put.of(1, "first", empty),
                    Cluster.Put.of(0, "second", large),
                    Cluster.Put.of(1, "third", large),
                    Cluster.Put.of(1, "first", large)));
            assertThat(fetched(cluster, 1, "first")).isEqualTo(large);
            assertThat(fetched(cluster, 0, "second")).isEqualTo(large);
            assertThat(fetched(cluster, 1, "third")).isEqualTo(large);
            cluster.run(3, 4, reports::addAll);
        }
        assertThat(reports).hasSize(8).contains(new StepReport(6, 5, 0, 6, Map.of("loss", 4.0)));
        assertThat(Files.readString(logs.resolve("rank-1.log")))
                .contains("plain worker starts", "plain workload closed", "plain backend closed");
    }

    private static HostTensor fetched(Cluster cluster, int rank, String name) {
        List<HostTensor> made = new ArrayList<>();
        cluster.fetch(rank, name, (shape, offset, bytes) -> {
            if (offset == 0) {
                made.add(HostTensor.allocate(shape));
            }
            made.get(0).data().position(Math.toIntExact(offset)).put(bytes);
        });
        return made.get(0);
    }

    @Test
    void aFailureNamesRankTaskAndLog() {
        WorkerFailure failure = failureOf("own-failure", List.of("sleep", "fail", "echo"));
        assertThat(failure.rank()).isEqualTo(1);
        assertThat(failure.task()).isEqualTo("F5");
        assertThat(failure.reason()).isEqualTo("IllegalStateException: out of paper");
        assertThat(failure.lastLogLines()).anyMatch(line -> line.contains("out of paper"));
        assertThat(failure.getMessage()).contains("The worker (rank 1) failed in task (F5)", "rank-1.log");
    }

    @Test
    void anEndedProcessIsTheCauseOfBrokenConnections() {
        WorkerFailure failure = failureOf("exit", List.of("echo", "echo", "exit"));
        assertThat(failure.rank()).isEqualTo(2);
        assertThat(failure.reason()).isEqualTo("its process ended with exit code 9");
        assertThat(failure.lastLogLines()).contains("plain worker starts");
        // Those that it took with it come after it and are not blamed.
        assertThat(failure.others())
                .containsExactly(
                        "rank 0 merely lost a peer, in task (F5): connection closed by peer",
                        "rank 1 merely lost a peer, in task (F5): connection closed by peer");
        assertThat(failure.getMessage())
                .startsWith("The worker (rank 2) failed")
                .containsSubsequence(
                        "its process ended with exit code 9.\nThe end of its log (",
                        "rank-2.log",
                        "plain worker starts",
                        "The other workers:",
                        "rank 0 merely",
                        "rank 1 merely");
    }

    /** Making the message takes libtorch some time. */
    @Test
    void thoseThatLostAPeerAreWaitedFor() {
        WorkerFailure failure = failureOf("late-echo", List.of("late echo", "exit"));
        assertThat(failure.rank()).isEqualTo(1);
        assertThat(failure.others())
                .containsExactly("rank 0 merely lost a peer, in task (F5): connection closed by peer");
    }

    private static WorkerFailure failureOf(String name, List<String> words) {
        try (ProcessCluster processes = ProcessCluster.start(name, OPTIONS, words.size())) {
            processes.cluster().load(rank -> bytes(words.get(rank)), Map.of());
            return thrownBy(processes, 5);
        }
    }

    private static WorkerFailure thrownBy(ProcessCluster processes, long step) {
        WorkerFailure failure = catchThrowableOfType(
                WorkerFailure.class, () -> processes.cluster().run(step, 3, reports -> {}));
        assertThat(failure).isNotNull();
        return failure;
    }

    @Test
    void aKilledWorkerIsNamedWithItsTask() throws InterruptedException {
        try (ProcessCluster processes = ProcessCluster.start("killed", OPTIONS, 2)) {
            processes.cluster().load(rank -> bytes("sleep"), Map.of());
            Thread killer = new Thread(() -> {
                sleep(1500);
                processes.kill(1);
            });
            killer.start();
            WorkerFailure failure = thrownBy(processes, 8);
            killer.join();
            assertThat(failure.rank()).isEqualTo(1);
            assertThat(failure.task()).isEqualTo("F8");
            assertThat(failure.reason()).isEqualTo("its process was ended by signal 9 (SIGKILL, exit code 137)");
            assertThat(failure.getMessage()).contains("\nMaybe the system ended it because memory was short");
            assertThat(failure.lastLogLines())
                    .as("what it had done")
                    .anyMatch(line -> line.matches("[0-9:.]+ rank 1 \\(process [0-9]+\\): load took [0-9]+ ms"));
        }
    }

    @Test
    void aWorkerThatHangsIsFoundByItsSilence() {
        ClusterOptions options = OPTIONS.withLivenessDeadline(Duration.ofSeconds(2));
        try (ProcessCluster processes = ProcessCluster.start("silent", options, 2)) {
            processes.cluster().load(rank -> bytes("sleep"), Map.of());
            processes.suspend(0);
            WorkerFailure failure = thrownBy(processes, 1);
            assertThat(failure.rank()).isZero();
            assertThat(failure.reason()).startsWith("no sign of life for 2 s");
        }
        assertThat(ClusterOptions.of("main").livenessDeadline())
                .as("told before the connection is given up")
                .isLessThan(Wire.GIVEN_UP_AFTER);
    }

    @Test
    void aStepThatTakesTooLongIsEnded() {
        ClusterOptions options = OPTIONS.withStepDeadline(Duration.ofSeconds(1));
        try (ProcessCluster processes = ProcessCluster.start("slow", options, 1)) {
            processes.cluster().load(rank -> bytes("sleep"), Map.of());
            assertThat(thrownBy(processes, 1).reason()).contains("took longer than 1 s");
        }
    }

    @Test
    void aMistakeOfTheUsersComesBackAsSuch() {
        try (ProcessCluster processes = ProcessCluster.start("user-error", OPTIONS, 2)) {
            assertThatThrownBy(() -> processes.cluster().load(rank -> bytes("wrong"), Map.of()))
                    .isInstanceOf(UserError.class)
                    .hasMessage("The program (wrong) must be right.\nMaybe write another.");
            assertThat(processes.cluster().load(rank -> bytes("right"), Map.of()))
                    .hasSize(2);
        }
    }

    @Test
    void aPortInUseIsAMistakeOfTheUsers() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() -> ProcessCluster.start("port", OPTIONS.withPort(taken.getLocalPort()), 1))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining(
                            "The port (" + taken.getLocalPort() + ") of the coordinator (127.0.0.1) must be free.");
        }
    }

    @Test
    void aWorkerThatDoesNotComeUpIsNamed() {
        ClusterOptions options = ClusterOptions.of("dev.drover.NoSuchMain");
        WorkerFailure failure =
                catchThrowableOfType(WorkerFailure.class, () -> ProcessCluster.start("no-main", options, 1));
        assertThat(failure.reason()).isEqualTo("its process ended with exit code 1");
        assertThat(failure.lastLogLines()).anyMatch(line -> line.contains("NoSuchMain"));
    }

    @Test
    void workersDieWithTheirCoordinator() throws IOException, InterruptedException {
        for (String signal : List.of("-KILL", "-TERM")) {
            Process owner = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx256m",
                            "-cp",
                            System.getProperty("java.class.path"),
                            OwnerMain.class.getName(),
                            signal.substring(1))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            try (BufferedReader out =
                    new BufferedReader(new InputStreamReader(owner.getInputStream(), StandardCharsets.UTF_8))) {
                String[] line = String.valueOf(out.readLine()).split(" ");
                assertThat(line).hasSize(3);
                List<Long> pids = List.of(Long.parseLong(line[1]), Long.parseLong(line[2]));
                new ProcessBuilder("kill", signal, Long.toString(owner.pid()))
                        .start()
                        .waitFor();
                assertThat(owner.waitFor(10, TimeUnit.SECONDS)).isTrue();
                ProcessCluster.assertGone(pids);
            } finally {
                owner.destroyForcibly();
            }
        }
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] bytes(String word) {
        return word.getBytes(StandardCharsets.UTF_8);
    }
}

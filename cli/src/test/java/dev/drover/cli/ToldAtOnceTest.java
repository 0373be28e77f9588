package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.runtime.checkpoint.CheckpointIndex;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What cannot work is told in one message before anything is measured, searched or started, and nothing is left behind. */
class ToldAtOnceTest {
    private static final String MLP = "mlp:layers=2,hidden=16,batch=16";
    private static final String GPT = "gpt:layers=1,hidden=8,heads=1,seq=8,batch=8";

    @TempDir
    Path folder;

    /** A file where a folder is wanted. */
    private String file = "";

    @BeforeEach
    void makeFile() throws IOException {
        file = Files.writeString(folder.resolve("e.txt"), "text").toString();
    }

    private void assertAtOnce(List<String> command, String... parts) throws IOException {
        List<Path> before = entries();
        CommandRun run = CommandRun.of(command.toArray(new String[0]));
        assertThat(run.exitCode()).as(run.err()).isEqualTo(2);
        assertThat(run.err().lines().toList()).as(run.err()).hasSizeBetween(1, 2);
        assertThat(run.err()).startsWith("drover: The ").contains(parts);
        assertThat(entries()).isEqualTo(before);
    }

    private List<Path> entries() throws IOException {
        try (var walk = Files.walk(folder)) {
            return walk.sorted().toList();
        }
    }

    private String at(String name) {
        return folder.resolve(name).toString();
    }

    @Test
    void foldersThatCannotBeMade() throws IOException {
        for (String command : List.of("train", "verify")) {
            for (String wrong : List.of(file, file + "/below", "/proc/none/below")) {
                assertAtOnce(List.of(command, MLP, "--run-folder", wrong), "The run folder (" + wrong + ") must be");
            }
        }
        for (String wrong : List.of(file, file + "/below", "/proc/none/below")) {
            assertAtOnce(
                    List.of("train", MLP, "--run-folder", at("run"), "--checkpoint", wrong),
                    "The checkpoint folder (" + wrong + ") must be");
        }
        Files.createDirectories(folder.resolve("used"));
        Files.writeString(folder.resolve("used/logs"), "");
        assertAtOnce(List.of("train", MLP, "--run-folder", at("used")), "The log folder (");
        Files.createDirectories(folder.resolve("old/report.html"));
        assertAtOnce(List.of("train", MLP, "--run-folder", at("old")), "report.html", "must be writable");
    }

    @Test
    void checkpointsThatCannotBeRead() throws IOException {
        Files.createDirectories(folder.resolve("other"));
        Files.writeString(folder.resolve("other/notes.txt"), "");
        List<String> command = List.of("train", MLP, "--run-folder", at("run"), "--checkpoint", at("other"));
        assertAtOnce(command, "must hold a checkpoint");
        Files.writeString(folder.resolve("other/index.json"), "{");
        assertAtOnce(command, "The checksum (none) at the end of the checkpoint's index (");
    }

    @Test
    void outputsThatCannotBeWritten() throws IOException {
        String plan = Files.writeString(folder.resolve("plan.json"), "{}").toString();
        for (String wrong : List.of(folder.toString(), file + "/below", at("no/such/file"))) {
            String message = "The file (" + wrong + ") must be writable, but ";
            assertAtOnce(List.of("report", plan, "-o", wrong), message);
            assertAtOnce(List.of("simulate", plan, "--trace", wrong), message);
            assertAtOnce(List.of("plan", MLP, "-o", wrong), message);
        }
    }

    @Test
    void aPortInUse() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String port = String.valueOf(taken.getLocalPort());
            for (String command : List.of("train", "verify")) {
                assertAtOnce(
                        List.of(command, MLP, "--port", port, "--run-folder", at("run")),
                        "The port (" + port + ") of the coordinator (127.0.0.1) must be free.");
            }
        }
    }

    /** Another run cannot take it while this one plans. */
    @Test
    void aPortIsKeptUntilItIsNeeded() throws IOException {
        int number;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            number = free.getLocalPort();
        }
        List<String> other = List.of("train", MLP, "--port", String.valueOf(number), "--run-folder", at("run"));
        try (PortClaim claim = PortClaim.of(number)) {
            assertAtOnce(other, "The port (" + number + ") of the coordinator (127.0.0.1) must be free.");
            assertThat(claim.release()).isEqualTo(number);
            new ServerSocket(number, 1, InetAddress.getLoopbackAddress()).close();
        }
        assertThat(PortClaim.ANY.release()).isZero();
    }

    @Test
    void optionsThatWouldHaveNoEffect() throws IOException {
        String plan = Files.writeString(folder.resolve("plan.json"), "{}").toString();
        for (String command : List.of("train", "verify")) {
            assertAtOnce(
                    List.of(command, MLP, "--model", plan), "--model (" + plan + ")", "(" + MLP + ") is none", plan);
            for (List<String> decided : List.of(
                    List.of("--cluster", "m8:1"),
                    List.of("--workers", "2"),
                    List.of("--stages", "2"),
                    List.of("--mesh", "2"),
                    List.of("--micro-batches", "2"),
                    List.of("--schedule", "gpipe"))) {
                List<String> line = new ArrayList<>(List.of(command, plan));
                line.addAll(decided);
                assertAtOnce(line, decided.get(0) + " (" + decided.get(1) + ")", plan + ") is a plan");
            }
        }
        for (String command : List.of("explain", "simulate", "report")) {
            assertAtOnce(List.of(command, MLP, "--model", plan), "The plan file (" + MLP + ")");
        }
        assertAtOnce(List.of("train", GPT, "--data", file, "--inputs", file), "must not be given both");
        assertAtOnce(List.of("train", MLP, "--data", file), "models of text");
        assertAtOnce(List.of("train", hlo(), "--data", file), "models of text");
    }

    private String hlo() throws IOException {
        return Files.writeString(folder.resolve("step.hlo"), """
                        HloModule step

                        ENTRY main {
                          x = f32[8,4] parameter(0)
                          ROOT out = (f32[8,4]) tuple(x)
                        }
                        """).toString();
    }

    @Test
    void filesThatAreNotThere() throws IOException {
        assertAtOnce(List.of("train", GPT, "--data", at("none")), "The data file (" + at("none") + ") must exist.");
        Files.createDirectories(folder.resolve("empty"));
        assertAtOnce(
                List.of("train", GPT, "--data", at("empty")),
                "The data folder (" + at("empty") + ") must hold .txt or .md files");
        for (String missing : List.of("typo.yaml", "typo.yml", at("typo"))) {
            assertAtOnce(List.of("plan", MLP, "-c", missing), "The cluster file (" + missing + ") must exist.");
        }
        assertAtOnce(List.of("plan", MLP, "-c", folder.toString()), "but it is a folder");
        assertAtOnce(List.of("plan", MLP, "-c", ""), "The cluster () must be");
    }

    @Test
    void checkpointsOfAnotherModel() throws IOException {
        Path other = folder.resolve("state");
        new CheckpointIndex(CheckpointIndex.VERSION, 3, List.of()).write(other);
        assertAtOnce(
                List.of("train", MLP, "--run-folder", at("run"), "--checkpoint", other.toString()),
                "The checkpoint (" + other + ") must be of this model: head.bias is missing, ",
                ", and 16 more.");
        assertAtOnce(
                List.of("train", MLP, "--run-folder", at("run"), "--checkpoint-every", "5"),
                "The option --checkpoint-every (5) must be at least 1 and given with --checkpoint.");
    }

    @Test
    void moreThanThisMachineHas() throws IOException {
        for (String command : List.of("train", "verify")) {
            assertAtOnce(
                    List.of(command, MLP, "--run-folder", at("run"), "--threads", "100000"),
                    "The threads (100000) of a worker must be at most ");
        }
        String problem = Files.writeString(folder.resolve("p.json"), "{}").toString();
        assertAtOnce(
                List.of("solve", problem, "--threads", "9999"), "The threads (9999) of the search must be at most ");
        String huge = "mlp:layers=2,hidden=4000000,features=1,batch=1";
        assertAtOnce(
                List.of("verify", huge, "--run-folder", at("run")),
                "The memory (",
                ") of the unpartitioned model must be at most that of this machine (");
        // Plans for other machines are good plans, but not here.
        String cluster = Files.writeString(
                        folder.resolve("large.yaml"), CommandRun.smallCluster(1_000_000_000_000_000_000L))
                .toString();
        CommandRun run = CommandRun.of("train", huge, "--run-folder", at("run"), "-c", cluster, "--mesh", "2");
        assertThat(run.exitCode()).as(run.err()).isEqualTo(2);
        assertThat(run.message())
                .startsWith("drover: The memory (")
                .contains(") of 2 workers must be at most that of this machine (")
                .contains("Maybe plan for this machine with --workers");
        assertThat(run.err()).doesNotContain("starting");
    }

    /** Only where it was asked for: by default, and with one thread each, more workers than processors are what everyone runs. */
    @Test
    void threadsThatWaitForEachOtherAreToldOnce() {
        int processors = Runtime.getRuntime().availableProcessors();
        int threads = Math.max(2, processors);
        for (int each : new int[] {threads, 1, 0}) {
            List<String> args =
                    new ArrayList<>(List.of("verify", "mlp:layers=1,hidden=8,batch=8", "--cluster", "s1:2"));
            args.addAll(List.of("--stages", "2", "--mesh", "1", "--micro-batches", "2", "--run-folder"));
            args.addAll(List.of(
                    Path.of("target", "runs", "threads-" + each).toString(), "--threads", String.valueOf(each)));
            CommandRun run = CommandRun.of(args.toArray(new String[0]));
            assertThat(run.exitCode()).as(run.err()).isZero();
            String told = "drover: the threads (2 workers of " + each + ") are more than the processors (" + processors
                    + ") of this machine";
            if (each == threads) {
                assertThat(run.err()).containsOnlyOnce(told);
            } else {
                assertThat(run.err()).doesNotContain("more than the processors");
            }
        }
    }

    @Test
    void aTextThatIsTooShortIsNamed() throws IOException {
        String gpt = "gpt:layers=1,hidden=8,heads=1,seq=8,batch=8";
        Path text = folder.resolve("short.txt");
        for (String content : List.of("", "a", "123456789")) {
            Files.writeString(text, content);
            assertThatThrownBy(() -> ModelInputs.of(LoadedModel.load(gpt), text, 1))
                    .isInstanceOf(UserError.class)
                    .hasMessageStartingWith("The size (" + content.length() + " bytes) of text (" + text
                            + ") must be at least 10 bytes");
        }
        Files.writeString(text, "1234567890");
        assertThat(ModelInputs.of(LoadedModel.load(gpt), text, 1).note()).contains("(10 bytes)");
    }

    @Test
    void bytesThatAreNotTokensAreTold() throws IOException {
        LoadedModel small = LoadedModel.load("gpt:layers=1,hidden=8,heads=1,seq=8,batch=8,vocab=10");
        Path text = Files.writeString(folder.resolve("long.txt"), "text ".repeat(9));
        assertThat(ModelInputs.of(small, text, 1).note()).contains("a token is a byte modulo 10");
    }
}

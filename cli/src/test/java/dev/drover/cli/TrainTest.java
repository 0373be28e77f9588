package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.runtime.checkpoint.CheckpointIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Training on real worker processes: the losses are those of one worker. */
class TrainTest {
    private static final String GPT = "gpt:layers=2,hidden=32,heads=4,seq=16,batch=8";

    @TempDir
    Path folder;

    private JsonNode train(String name, String... more) throws IOException {
        return new ObjectMapper().readTree(run(name, more).out());
    }

    private CommandRun run(String name, String... more) throws IOException {
        List<String> args = new ArrayList<>(List.of(
                "train",
                GPT,
                "--steps",
                "6",
                "--json",
                "--data",
                data().toString(),
                "--run-folder",
                Path.of("target", "runs", name).toString()));
        args.addAll(List.of(more));
        CommandRun run = CommandRun.of(args.toArray(String[]::new));
        assertThat(run.exitCode()).as(run.err()).isZero();
        return run;
    }

    private Path data() throws IOException {
        Path file = folder.resolve("text.txt");
        Files.writeString(file, "the quick brown fox jumps over the lazy dog. ".repeat(40));
        return file;
    }

    private static List<Double> losses(JsonNode result) {
        List<Double> out = new ArrayList<>();
        result.get("losses").forEach(loss -> out.add(loss.asDouble()));
        return out;
    }

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void fourWorkersTrainAsOneDoes() throws IOException {
        List<Double> one = losses(train("one", "--workers", "1"));
        JsonNode result = train("four", "--workers", "4", "--stages", "2", "--mesh", "2", "--micro-batches", "2");
        List<Double> four = losses(result);
        assertThat(one).hasSize(6);
        assertThat(result.get("firstStep").asInt()).isEqualTo(1);
        assertThat(result.get("resumedFrom").isNull()).isTrue();
        assertThat(one.get(5)).isLessThan(one.get(0) - 0.05);
        for (int i = 0; i < 6; i++) {
            assertThat(four.get(i)).isCloseTo(one.get(i), org.assertj.core.data.Offset.offset(1e-4));
        }
        assertThat(result.get("stepMillis").asDouble()).isPositive();
        assertThat(result.get("tokensPerSecond").asDouble()).isPositive();
        assertThat(result.get("predictedStepMillis").asDouble()).isPositive();
        assertThat(Path.of(result.get("report").asText())).exists();
        assertThat(result.get("memory")).hasSize(4);
        for (JsonNode worker : result.get("memory")) {
            assertThat(worker.get("predictedBytes")).isEqualTo(worker.get("allocatedBytes"));
            assertThat(worker.get("predictedParts")).isEqualTo(worker.get("allocatedParts"));
        }
    }

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void theWholeEqualsItsPartsOnWorkers() throws IOException {
        CommandRun run = CommandRun.of(
                "verify",
                GPT,
                "--workers",
                "2",
                "--random",
                "2",
                "--json",
                "--run-folder",
                Path.of("target", "runs", "verify").toString());
        assertThat(run.exitCode()).as(run.err()).isZero();
        JsonNode result = new ObjectMapper().readTree(run.out());
        assertThat(result.get("equal").asBoolean()).isTrue();
        assertThat(result.get("plans").asInt()).isEqualTo(3);
        assertThat(result.get("worstRelativeError").asDouble()).isLessThan(5e-4);
    }

    /** Steps 3 to 6 after the state of step 2 are those of a run that was not interrupted, and a later mistake loses no state. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void stateIsSavedOnTheWay() throws IOException {
        Path state = folder.resolve("state");
        List<Double> all = losses(train(
                "saves",
                "--workers",
                "2",
                "--stages",
                "2",
                "--checkpoint",
                state.toString(),
                "--checkpoint-every",
                "2"));
        assertThat(state.resolve("step-000000002/index.json")).exists();
        assertThat(state.resolve("step-000000004/index.json")).exists();
        assertThat(state.resolve("step-000000006/index.json")).exists();
        // As if it had been ended after step 2, while it wrote the next.
        deleteAll(state.resolve("step-000000006"));
        Files.delete(state.resolve("step-000000004/index.json"));
        CommandRun resumed = run("goes-on", "--workers", "1", "--checkpoint", state.toString());
        JsonNode result = new ObjectMapper().readTree(resumed.out());
        List<Double> rest = losses(result);
        for (int i = 2; i < 6; i++) {
            assertThat(rest.get(i - 2)).isCloseTo(all.get(i), org.assertj.core.data.Offset.offset(1e-4));
        }
        assertThat(state.resolve("step-000000008/index.json")).exists();
        // Steps are counted from those of the checkpoint wherever they are told.
        String from = state.resolve("step-000000002").toString();
        assertThat(resumed.err())
                .contains("going on after step 2 from " + from, "step    3/8 ", "step    8/8 ")
                .doesNotContain("step    1/", "step    2/");
        assertThat(result.get("firstStep").asInt()).isEqualTo(3);
        assertThat(result.get("resumedFrom").asText()).isEqualTo(from);
        assertThat(Files.readString(Path.of(result.get("report").asText())))
                .contains("in steps 3 to 8 (resumed from " + from + ")");
    }

    /** A checkpoint that cannot be written costs nothing but itself: losses go on, and the next one is written. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void trainingGoesOnWithoutACheckpointThatCannotBeSaved() throws IOException {
        Path state = folder.resolve("state");
        List<String> common = List.of("--workers", "2", "--stages", "2", "--checkpoint", state.toString());
        JsonNode begun = train("begun", common.toArray(String[]::new));
        assertThat(begun.get("lastStateSaved").asBoolean()).isTrue();
        assertThat(begun.get("checkpoint").asText()).endsWith("step-000000006");
        // In the place of their folders, which any user and system refuses.
        Path eighth = Files.writeString(state.resolve("step-000000008"), "no folder");
        Files.writeString(state.resolve("step-000000012"), "no folder");
        List<String> args = new ArrayList<>(List.of("train", GPT, "--steps", "6", "--json", "--checkpoint-every", "2"));
        args.addAll(List.of("--data", data().toString()));
        args.addAll(List.of(
                "--run-folder", Path.of("target", "runs", "goes-on-without").toString()));
        args.addAll(common);
        CommandRun run = CommandRun.of(args.toArray(String[]::new));
        assertThat(run.exitCode()).as(run.err()).isEqualTo(Main.NOT_SAVED);
        JsonNode result = new ObjectMapper().readTree(run.out());
        assertThat(losses(result)).hasSize(6);
        assertThat(result.get("lastStateSaved").asBoolean()).isFalse();
        assertThat(result.get("checkpoint").asText()).endsWith("step-000000010");
        assertThat(Path.of(result.get("report").asText())).exists();
        assertThat(run.err())
                .containsOnlyOnce("The state of step 8 must be saved, but: The file (" + eighth)
                .containsOnlyOnce("training goes on, and saving is tried again after step 10")
                .containsOnlyOnce("The state of step 12 must be saved, but: The file (")
                .containsOnlyOnce("the last state (step 12) is NOT saved; the newest that is, of step 10, is in ");
        assertThat(state.resolve("step-000000006/index.json")).exists();
        assertThat(state.resolve("step-000000010/index.json")).exists();
    }

    /** What an engineer wants to see of a worker that was killed in the midst of it, and from where to go on. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void aKilledWorkerIsToldFirst() throws Exception {
        Path state = folder.resolve("state");
        List<String> args = new ArrayList<>(List.of("train", GPT, "-c", "s1:2", "--stages", "1", "--mesh", "2"));
        args.addAll(List.of("--micro-batches", "1", "--steps", "1000000", "--data", data().toString()));
        args.addAll(List.of("--checkpoint", state.toString(), "--checkpoint-every", "400"));
        Path runFolder = Path.of("target", "runs", "killed");
        args.addAll(List.of("--run-folder", runFolder.toString()));
        Path log = runFolder.resolve("logs/rank-1.log");
        Files.deleteIfExists(log);
        CompletableFuture<CommandRun> running =
                CompletableFuture.supplyAsync(() -> CommandRun.of(args.toArray(String[]::new)));
        Pattern done = Pattern.compile("rank 1 \\(process ([0-9]+)\\): the first step is done");
        Matcher found = done.matcher("");
        while (!found.find() || !Files.exists(CheckpointIndex.folder(state, 400).resolve("index.json"))) {
            assertThat(running).isNotDone();
            Thread.sleep(50);
            found = done.matcher(Files.exists(log) ? Files.readString(log) : "");
        }
        // In the midst of steps again, far from the next save.
        Thread.sleep(300);
        assertThat(isRun("kill", "-KILL", found.group(1))).isTrue();
        CommandRun run = running.get();
        assertThat(run.exitCode()).as(run.err()).isEqualTo(Main.WORKER_FAILED);
        assertThat(run.err())
                .containsPattern(
                        "drover: a worker failed; the last step that all have ended is [0-9]+; the same command goes on from "
                                + Pattern.quote(state.toString()) + "/step-[0-9]+\n")
                .containsPattern(
                        "drover: The worker \\(rank 1\\) failed( in task \\(.+\\))?: its process was ended by signal 9"
                                + " \\(SIGKILL, exit code 137\\)[.]\nMaybe ")
                .containsSubsequence("The end of its log (", "load took ", "the first step is done");
        // Whether the other worker has said so by then is chance.
        int others = run.err().indexOf("The other workers:");
        if (others >= 0) {
            assertThat(run.err().substring(others)).contains("rank 0 merely lost a peer");
            assertThat(others).isGreaterThan(run.err().indexOf("the first step is done"));
        }
    }

    /** Where the system lets this user make a small disk. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void aFullDiskIsToldWithWhatIsMissing() throws IOException, InterruptedException {
        Path disk = Files.createDirectories(folder.resolve("disk"));
        assumeTrue(isRun("mount", "-t", "tmpfs", "-o", "size=640k", "tmpfs", disk.toString()));
        try {
            CommandRun run = CommandRun.of(
                    "train",
                    GPT,
                    "--workers",
                    "2",
                    "--stages",
                    "2",
                    "--steps",
                    "4",
                    "--checkpoint-every",
                    "1",
                    "--json",
                    "--data",
                    data().toString(),
                    "--checkpoint",
                    disk.resolve("state").toString(),
                    "--run-folder",
                    disk.resolve("run").toString());
            assertThat(run.exitCode()).as(run.err()).isEqualTo(Main.NOT_SAVED);
            JsonNode result = new ObjectMapper().readTree(run.out());
            assertThat(losses(result)).hasSize(4);
            assertThat(result.get("lastStateSaved").asBoolean()).isFalse();
            assertThat(run.err())
                    .containsOnlyOnce("saved to " + disk.resolve("state/step-000000001"))
                    .containsOnlyOnce("The state of step 2 must be saved, but: The free space (")
                    .contains(" are missing.\nMaybe make room: the checkpoints before it are whole.")
                    .doesNotContain("The state of step 3 must be saved")
                    .containsOnlyOnce("the last state (step 4) is NOT saved; the newest that is, of step 1, is in ");
            assertThat(disk.resolve("state/step-000000002")).doesNotExist();
        } finally {
            assertThat(isRun("umount", disk.toString())).isTrue();
        }
    }

    private static boolean isRun(String... command) throws InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            return process.waitFor(20, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            // No such program.
            return false;
        }
    }

    private static void deleteAll(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void aLossThatIsNoNumberIsTold() {
        CommandRun run = CommandRun.of(
                "train",
                "mlp:layers=1,hidden=8,batch=8,lr=1e30",
                "--cluster",
                "s1:1",
                "--steps",
                "4",
                "--json",
                "--run-folder",
                Path.of("target", "runs", "nan").toString());
        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.err())
                .containsOnlyOnce("the loss is NaN since step 2")
                .contains("Maybe take a smaller learning rate")
                .contains("made for s1:1, so no prediction for this machine");
    }

    /** The peaks of another machine say nothing of this one. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void aPlanForOtherMachinesTrainsHereWithoutAPrediction() throws IOException {
        String plan = folder.resolve("plan.json").toString();
        CommandRun planned = CommandRun.of(
                "plan", GPT, "-c", "s1:2", "--stages", "2", "--mesh", "1", "--micro-batches", "2", "-o", plan);
        assertThat(planned.exitCode()).as(planned.err()).isZero();
        CommandRun run = CommandRun.of(
                "train",
                plan,
                "--steps",
                "2",
                "--json",
                "--data",
                data().toString(),
                "--run-folder",
                Path.of("target", "runs", "elsewhere").toString());
        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(run.err())
                .contains("made for s1:2, so no prediction for this machine")
                .doesNotContain("(predicted");
        JsonNode result = new ObjectMapper().readTree(run.out());
        assertThat(result.get("predictedStepMillis").isNull()).isTrue();
        assertThat(losses(result)).hasSize(2);
        assertThat(Files.readString(Path.of(result.get("report").asText()))).doesNotContain("NaN");
    }
}

package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What tables say to people. */
class TablesTest {
    private static final String MLP = "mlp:layers=2,hidden=16,batch=16";

    @TempDir
    Path folder;

    private static List<String> rows(String out, String start) {
        return out.lines().filter(line -> line.startsWith(start)).toList();
    }

    /** Rows that differ in micro-batches only are one, and none is lost. */
    @Test
    void candidatesWithOneReasonShareARow() {
        CommandRun run = CommandRun.of("plan", MLP, "--cluster", "m8:1");
        assertThat(run.exitCode()).as(run.err()).isZero();
        assertThat(rows(run.out(), "1 x mesh 8 "))
                .hasSize(2)
                .anyMatch(row -> row.matches("1 x mesh 8 +2, 4, 8 +- +- +cannot be faster: .*"));
        assertThat(rows(run.out(), "1 x mesh 2x4 ").size()
                        + rows(run.out(), "2 x mesh 4 ").size())
                .isGreaterThan(1);
    }

    /** A plan that was made for larger devices, or changed since. */
    @Test
    void memoryAboveTheLimitIsTold() throws IOException {
        Path plan = folder.resolve("plan.json");
        CommandRun made =
                CommandRun.of("plan", MLP, "-c", "s1:2", "--stages", "2", "--timeout", "1", "-o", plan.toString());
        assertThat(made.exitCode()).as(made.err()).isZero();
        assertThat(made.out()).doesNotContain("are missing");
        String text = Files.readString(plan);
        String changed = text.replaceAll("\"memoryBytes\" : \\d+", "\"memoryBytes\" : 1000");
        assertThat(changed).isNotEqualTo(text);
        Files.writeString(plan, changed);
        for (String command : List.of("simulate", "explain")) {
            CommandRun run = CommandRun.of(command, plan.toString());
            assertThat(run.exitCode()).as(run.err()).isZero();
            assertThat(run.out()).contains("of stage (0) must be at most 1000 B per device", "are missing");
        }
    }

    /** Both axes of a mesh that does the same work everywhere are told in one sentence. */
    @Test
    void axesThatCutNothingAreToldOnce() {
        String out = CommandRun.of(
                        "plan",
                        "mlp:layers=1,hidden=1,batch=1,features=1,classes=1",
                        "--cluster",
                        "s1:4",
                        "--stages",
                        "1",
                        "--mesh",
                        "2x2")
                .out();
        assertThat(out).containsOnlyOnce("Mesh axes x and y cut nothing: all devices of a stage do the same work.");
        assertThat(out).containsOnlyOnce("Maybe use fewer devices");
    }

    /** A small model has small numbers, not zeros; a role has one name. */
    @Test
    void inspectFindsAUnit() {
        String out = CommandRun.of("inspect", MLP, "--inputs").out();
        assertThat(out).contains("instructions, 127.813 kflop a step").doesNotContain("0.000 ");
        assertThat(rows(out, "op ")).singleElement().asString().endsWith("kflop");
        assertThat(rows(out, "optimizer state")).hasSize(1);
        assertThat(out).containsPattern("layer0.weight.m +f32\\[64,16\\] +optimizer state");
        int column = rows(out, "input 0 ").get(0).indexOf("f32[");
        assertThat(rows(out, "input "))
                .hasSizeGreaterThan(3)
                .allMatch(row -> row.substring(column).matches("[a-z][0-9]+\\[.*"));
    }
}

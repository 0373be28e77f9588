package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One command run in this process, with what it printed. */
record CommandRun(int exitCode, String out, String err) {

    static CommandRun of(String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        CommandRun run = into(out, args);
        return new CommandRun(run.exitCode(), out.toString(StandardCharsets.UTF_8), run.err());
    }

    /** With a standard output of its own, which is not kept. */
    static synchronized CommandRun into(OutputStream out, String... args) {
        PrintStream err = System.err;
        ByteArrayOutputStream errBytes = new ByteArrayOutputStream();
        try {
            System.setErr(new PrintStream(errBytes, true, StandardCharsets.UTF_8));
            int code = Main.run(new StandardOutput(out, null), args);
            return new CommandRun(code, "", errBytes.toString(StandardCharsets.UTF_8));
        } finally {
            System.setErr(err);
        }
    }

    /** A program of this class path in a process of its own, with a heap of so many MiB. */
    static ProcessBuilder java(int heapMegabytes, Class<?> main, String... args) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx" + heapMegabytes + "m",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(args));
        return new ProcessBuilder(command);
    }

    /** The file of the cluster {@code small} of two devices, but with this memory. */
    static String smallCluster(long memoryBytes) throws IOException {
        String memory = "memoryBytes: 2000\n";
        String text = Files.readString(Path.of("../plan/src/test/resources/clusters/small.yaml"));
        assertThat(text).containsOnlyOnce(memory);
        return text.replace(memory, "memoryBytes: " + memoryBytes + "\n");
    }

    /** What was printed for people about a failure: the lines of the last message, without progress. */
    String message() {
        int at = err.lastIndexOf("drover: The ");
        return at < 0 ? err : err.substring(at);
    }
}

package dev.drover.cli;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
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

    /** The file of a cluster of two devices of this memory. */
    static String tinyCluster(long memoryBytes) {
        return """
                name: tiny
                deviceTypes:
                - name: tiny
                  flopsPerSecondByDType: {f32: 1.0e12}
                  usableShare: 0.5
                  memoryBytes: %d
                  memoryBytesPerSecond: 1.0e11
                  opOverheadNanos: 1000
                hosts:
                - {deviceType: tiny, count: 1, devicesPerHost: 2}
                intraHost: {bytesPerSecond: 1.0e10, latencyNanos: 1000, shared: true}
                interHost: {bytesPerSecond: 1.0e9, latencyNanos: 10000, shared: true}
                """.formatted(memoryBytes);
    }

    /** What was printed for people about a failure: the lines of the last message, without progress. */
    String message() {
        int at = err.lastIndexOf("drover: The ");
        return at < 0 ? err : err.substring(at);
    }
}

package dev.drover.cli;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** One command run in this process, with what it printed. */
record CommandRun(int exitCode, String out, String err) {

    static synchronized CommandRun of(String... args) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream outBytes = new ByteArrayOutputStream();
        ByteArrayOutputStream errBytes = new ByteArrayOutputStream();
        try {
            System.setOut(new PrintStream(outBytes, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(errBytes, true, StandardCharsets.UTF_8));
            int code = Main.run(args);
            return new CommandRun(
                    code, outBytes.toString(StandardCharsets.UTF_8), errBytes.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }

    /** What was printed for people about a failure: the lines of the last message, without progress. */
    String message() {
        int at = err.lastIndexOf("drover: The ");
        return at < 0 ? err : err.substring(at);
    }
}

package dev.drover.cli;

import dev.drover.ir.UserError;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of the commands that start workers. */
final class RunOptions {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss-SSS", Locale.ROOT);
    private static final int MOST_ATTEMPTS = 10;

    @Option(
            names = "--port",
            paramLabel = "P",
            defaultValue = "0",
            description = "Port of the coordinator (default: any that is free).")
    int port;

    @Option(
            names = "--threads",
            paramLabel = "T",
            defaultValue = "0",
            description =
                    "Threads of each worker; 0: this machine's cores divided among them (default ${DEFAULT-VALUE}).")
    int threads;

    @Option(
            names = "--run-folder",
            paramLabel = "DIR",
            description = "Where logs and the report go (default: .drover/runs/<time> here).")
    @Nullable
    Path runFolder;

    /** The one of this run where none is given. */
    private @Nullable Path timed;

    /** Fails with {@link UserError} where an option makes no sense. */
    void check() {
        if (port < 0 || port > 65535) {
            throw new UserError("The port (" + port + ") must be between 0 and 65535.", "Maybe leave out --port.");
        }
        if (threads < 0) {
            throw new UserError("The threads (" + threads + ") of a worker must be at least 1, or 0 for a fair share.");
        }
        ThisMachine.checkThreads(threads, "of a worker");
    }

    /** Fails with {@link UserError} where workers could not be started with these, which is told before work is done for them. */
    void checkPlaces() {
        Output.checkFolder("run folder", folder());
        if (Files.isDirectory(folder())) {
            Output.checkFolder("log folder", Workers.logs(folder()));
            Output.checkWritable(page());
        }
    }

    /** The run folder for this process alone. */
    FolderClaim claim() {
        for (int attempt = 1; ; attempt++) {
            try {
                return FolderClaim.of("run folder", folder());
            } catch (UserError e) {
                if (runFolder != null || attempt == MOST_ATTEMPTS) {
                    throw e;
                }
                // Another run began within the same millisecond.
                timed = null;
            }
        }
    }

    /** The report of a training. */
    Path page() {
        return folder().resolve("report.html");
    }

    Path folder() {
        if (runFolder != null) {
            return runFolder;
        }
        Path folder = timed != null
                ? timed
                : Path.of(".drover", "runs", TIME.format(LocalDateTime.now(ZoneId.systemDefault())));
        timed = folder;
        return folder;
    }
}

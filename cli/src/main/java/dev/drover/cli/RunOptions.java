package dev.drover.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of the commands that start workers. */
final class RunOptions {
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
            description = "Threads of each worker (default: this machine's cores divided among the workers).")
    int threads;

    @Option(
            names = "--run-folder",
            paramLabel = "DIR",
            description = "Where logs and the report go (default: .drover/runs/<time> here).")
    @Nullable
    Path runFolder;

    Path folder() {
        if (runFolder == null) {
            String time = java.time.LocalDateTime.now(java.time.ZoneId.systemDefault())
                    .format(java.time.format.DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss-SSS", java.util.Locale.ROOT));
            runFolder = Path.of(".drover", "runs", time);
        }
        return runFolder;
    }
}

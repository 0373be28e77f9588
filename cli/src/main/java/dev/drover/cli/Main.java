package dev.drover.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Entry point of the command line. */
@Command(
        name = "drover",
        description = "Plans and runs parallel training of a model given as a graph.",
        version = "drover 0.1.0",
        mixinStandardHelpOptions = true)
public final class Main implements Runnable {

    private Main() {}

    @Override
    public void run() {
        CommandLine.usage(this, System.out);
    }

    /** Runs one command and exits with its code: 0 ok, 1 bug, 2 user error, 3 failure of a worker. */
    public static void main(String[] args) {
        System.exit(new CommandLine(new Main()).execute(args));
    }
}

package dev.drover.cli;

import dev.drover.ir.UserError;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.runtime.WorkerFailure;
import dev.drover.solver.SolverInputException;
import java.io.PrintStream;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Entry point of the command line. */
@Command(
        name = "drover",
        description = "Plans and runs parallel training of a model given as a graph.",
        version = "drover 0.1.0",
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "MODEL is a file of HLO text (.gz is read directly) or a zoo name such as",
            "gpt:layers=4,hidden=128,heads=4,seq=64,batch=16.",
            "",
            "Exit codes: 0 ok, 1 a bug in drover, 2 a mistake in what was given,",
            "3 a worker failed, 4 trained but not saved, 130 or 143 ended by Ctrl-C or kill,",
            "141 nobody reads what is printed (as in | head).",
            "",
            "Example: drover train gpt:layers=4,hidden=128,batch=16 --workers 4 --steps 50"
        })
public final class Main implements Runnable {
    static final int USER_MISTAKE = 2;
    static final int WORKER_FAILED = 3;
    /** Trained, but the last state or the report could not be written. */
    static final int NOT_SAVED = 4;

    private static final List<Subcommand> SUBCOMMANDS = List.of(
            new Subcommand("explain", ExplainCommand.class),
            new Subcommand("help", HelpCommand.class),
            new Subcommand("inspect", InspectCommand.class),
            new Subcommand("plan", PlanCommand.class),
            new Subcommand("report", ReportCommand.class),
            new Subcommand("simulate", SimulateCommand.class),
            new Subcommand("solve", SolveCommand.class),
            new Subcommand("train", TrainCommand.class),
            new Subcommand("verify", VerifyCommand.class));

    private record Subcommand(String name, Class<?> command) {}

    private Main() {}

    @Override
    public void run() {
        commandLine().usage(System.out);
    }

    /** The command line as an object. */
    static CommandLine commandLine() {
        return commandLine(SUBCOMMANDS);
    }

    /** The command line for these arguments. Of one that begins with a command only that is set up: all of them take a tenth of a second. */
    private static CommandLine commandLine(String[] args) {
        String first = args.length == 0 ? "" : args[0];
        List<Subcommand> named = SUBCOMMANDS.stream()
                .filter(command -> command.name.equals(first))
                .toList();
        return commandLine(named.isEmpty() ? SUBCOMMANDS : named);
    }

    private static CommandLine commandLine(List<Subcommand> subcommands) {
        CommandLine commandLine = new CommandLine(new Main());
        for (Subcommand subcommand : subcommands) {
            commandLine.addSubcommand(subcommand.name, subcommand.command);
        }
        commandLine.setCaseInsensitiveEnumValuesAllowed(true);
        commandLine.setExecutionExceptionHandler((problem, line, parsed) -> {
            if (problem instanceof UserError || problem instanceof SolverInputException) {
                System.err.println("drover: " + problem.getMessage());
                return USER_MISTAKE;
            }
            if (LastWord.isDue()) {
                return 1;
            }
            if (problem instanceof WorkerFailure) {
                System.err.println("drover: " + problem.getMessage());
                return WORKER_FAILED;
            }
            System.err.println("drover: this is a bug in drover, please report it with the following.");
            problem.printStackTrace();
            return 1;
        });
        commandLine.setParameterExceptionHandler((problem, args) -> {
            System.err.println("drover: " + WrongArguments.told(problem));
            return USER_MISTAKE;
        });
        return commandLine;
    }

    /** Runs one command and exits with its code: 0 ok, 1 bug, 2 user error, 3 failure of a worker, 4 trained but not saved, 141 nobody reads. */
    public static void main(String[] args) {
        System.exit(run(StandardOutput.ofProcess(), args));
    }

    /** Runs one command; what could not be written to the standard output is a mistake too, such as a full disk. */
    static int run(StandardOutput output, String... args) {
        PrintStream before = System.out;
        PrintStream printer = output.printer();
        System.setOut(printer);
        try {
            int code = run(args);
            printer.flush();
            return output.exitCode(code);
        } finally {
            System.setOut(before);
        }
    }

    private static int run(String... args) {
        try {
            return commandLine(args).execute(args);
        } catch (OutOfMemoryError e) {
            System.err.println("drover: The memory of Drover itself ("
                    + MemoryUse.text(Runtime.getRuntime().maxMemory())
                    + ") must suffice for this problem, but is full.\n"
                    + "Maybe give it more, as in DROVER_JAVA_OPTS=-Xmx8g, or use a smaller model or cluster.");
            return USER_MISTAKE;
        }
    }
}

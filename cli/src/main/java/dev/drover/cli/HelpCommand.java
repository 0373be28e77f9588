package dev.drover.cli;

import dev.drover.ir.UserError;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code drover help}. */
@Command(
        name = "help",
        description = "Shows the help of a command.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover help plan"})
final class HelpCommand implements Callable<Integer> {
    @Parameters(paramLabel = "COMMAND", arity = "0..1", description = "Whose help (default: the list of commands).")
    @Nullable
    String command;

    @Override
    public Integer call() {
        CommandLine main = Main.commandLine();
        CommandLine asked = command == null ? main : main.getSubcommands().get(command);
        if (asked == null) {
            throw new UserError(WrongArguments.unknownCommand(main.getCommandSpec(), String.valueOf(command)));
        }
        asked.usage(System.out);
        return 0;
    }
}

package dev.drover.cli;

import dev.drover.ir.Nearest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** What is wrong with a command line: one line, and one of advice. */
final class WrongArguments {
    private WrongArguments() {}

    /** The text for people. */
    static String told(ParameterException problem) {
        CommandSpec command = problem.getCommandLine().getCommandSpec();
        if (problem instanceof UnmatchedArgumentException unmatched) {
            return unmatched(command, unmatched.getUnmatched());
        }
        String help = "\nMaybe see " + command.qualifiedName(" ") + " --help.";
        if (problem instanceof MissingParameterException missing
                && !missing.getMissing().isEmpty()) {
            ArgSpec argument = missing.getMissing().get(0);
            return argument.isOption()
                    ? "The " + name(argument) + " must have a value: " + argument.paramLabel() + "." + help
                    : "The argument " + argument.paramLabel() + " of " + command.qualifiedName(" ") + " must be given."
                            + help;
        }
        if (problem instanceof OverwrittenOptionException twice) {
            return "The " + name(twice.getOverwritten()) + " must be given only once.";
        }
        ArgSpec argument = problem.getArgSpec();
        String value = problem.getValue();
        if (argument != null && value != null) {
            return "The " + name(argument) + " (" + value + ") must be " + constraint(argument, value) + "." + help;
        }
        return problem.getMessage() + help;
    }

    /** What to say of a command that there is not. */
    static String unknownCommand(CommandSpec main, String given) {
        TreeSet<String> commands = new TreeSet<>(main.subcommands().keySet());
        String nearest = Nearest.of(given, commands);
        boolean meant = !given.isEmpty() && nearest.charAt(0) == given.charAt(0);
        return "The command (" + given + ") must be one of " + String.join(", ", commands) + ".\nMaybe "
                + (meant ? "write " + nearest : advice(given, commands, main)) + ".";
    }

    private static String unmatched(CommandSpec command, List<String> arguments) {
        for (String argument : arguments) {
            if (argument.startsWith("-") && argument.length() > 1) {
                String option = argument.replaceFirst("=.*", "");
                List<String> known = new ArrayList<>();
                for (OptionSpec one : command.options()) {
                    known.addAll(Arrays.asList(one.names()));
                }
                return "The option (" + option + ") of " + command.qualifiedName(" ")
                        + " must be one that it has.\nMaybe " + advice(option, known, command) + ".";
            }
        }
        String first = arguments.get(0);
        if (!command.subcommands().isEmpty()) {
            return unknownCommand(command, first);
        }
        return "The argument (" + first + ") of " + command.qualifiedName(" ")
                + " must be left out, or belong to an option.\nMaybe see " + command.qualifiedName(" ") + " --help.";
    }

    private static String advice(String given, Collection<String> known, CommandSpec command) {
        List<String> near = Nearest.among(given, known);
        return near.isEmpty() ? "see " + command.qualifiedName(" ") + " --help" : "write " + near.get(0);
    }

    private static String name(ArgSpec argument) {
        return argument instanceof OptionSpec option
                ? "option " + option.longestName()
                : "argument " + argument.paramLabel();
    }

    private static String constraint(ArgSpec argument, String value) {
        Class<?> type = argument.type();
        if (type == int.class || type == Integer.class || type == long.class) {
            boolean whole = value.matches("-?\\d+");
            long least = type == long.class ? Long.MIN_VALUE : Integer.MIN_VALUE;
            long most = type == long.class ? Long.MAX_VALUE : Integer.MAX_VALUE;
            return "a whole number" + (whole ? " between " + least + " and " + most : "");
        }
        if (type == double.class) {
            return "a number";
        }
        return type == boolean.class ? "left out; it takes no value" : "a value of type " + argument.paramLabel();
    }
}

package dev.drover.runtime.launch;

import java.util.List;
import java.util.Map;

/**
 * What to run for one worker.
 *
 * @param mainClass on the class path of this process
 * @param arguments of the main method
 * @param environment added to the inherited one; the place for secrets, since arguments are visible to all users of a machine
 */
public record WorkerCommand(int rank, String mainClass, List<String> arguments, Map<String, String> environment) {
    public WorkerCommand {
        arguments = List.copyOf(arguments);
        environment = Map.copyOf(environment);
    }
}

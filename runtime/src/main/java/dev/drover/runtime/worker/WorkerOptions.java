package dev.drover.runtime.worker;

import dev.drover.ir.UserError;
import java.util.List;
import java.util.Map;

/**
 * How a worker is told who it is. Written by the coordinator, read by the main class of a worker.
 *
 * @param host the address on which this worker listens and by which the others reach it
 * @param watchParent end when the standard input ends
 * @param token shared secret of a run, in the environment
 */
public record WorkerOptions(
        int rank, String host, String coordinatorHost, int coordinatorPort, boolean watchParent, String token) {

    private static final String TOKEN_VARIABLE = "DROVER_TOKEN";

    public List<String> arguments() {
        return List.of(
                Integer.toString(rank),
                host,
                coordinatorHost,
                Integer.toString(coordinatorPort),
                Boolean.toString(watchParent));
    }

    public Map<String, String> environment() {
        return Map.of(TOKEN_VARIABLE, token);
    }

    public static WorkerOptions parse(String[] arguments, Map<String, String> environment) {
        String token = environment.get(TOKEN_VARIABLE);
        if (arguments.length != 5 || token == null) {
            throw new UserError("A worker must be started by a coordinator.", "Maybe use the command train.");
        }
        return new WorkerOptions(
                Integer.parseInt(arguments[0]),
                arguments[1],
                arguments[2],
                Integer.parseInt(arguments[3]),
                Boolean.parseBoolean(arguments[4]),
                token);
    }
}

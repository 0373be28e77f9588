package dev.drover.cli;

import dev.drover.plan.sim.ChromeTrace;
import dev.drover.planner.search.Planned;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover simulate}. */
@Command(
        name = "simulate",
        description = "Computes timeline and memory of a plan anew.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover simulate plan.json --trace trace.json"})
final class SimulateCommand implements Callable<Integer> {
    @Parameters(paramLabel = "P", description = "A plan file.")
    String plan = "";

    @Option(names = "--model", paramLabel = "MODEL", description = "The model, if it is no longer where the plan says.")
    @Nullable
    String model;

    @Option(
            names = "--trace",
            paramLabel = "T.json",
            description = "Write a Chrome trace (for Perfetto or chrome://tracing).")
    @Nullable
    Path trace;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    @Override
    public Integer call() {
        long start = System.nanoTime();
        if (trace != null) {
            Output.checkWritable(trace);
        }
        Planned planned = PlanOptions.stored(plan, model).compiled();
        if (trace != null) {
            Output.write(trace, writer -> ChromeTrace.write(planned.simulated(), writer));
        }
        if (json) {
            Output.json(PlanTables.json(planned, (System.nanoTime() - start) / 1e6));
        } else {
            PlanTables.print(planned);
        }
        return 0;
    }
}

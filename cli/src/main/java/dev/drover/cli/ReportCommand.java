package dev.drover.cli;

import dev.drover.report.ReportPage;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover report}. */
@Command(
        name = "report",
        description = "Writes a self-contained page about a plan: graph and shardings, timeline, memory, candidates.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover report plan.json -o plan.html"})
final class ReportCommand implements Callable<Integer> {
    @Parameters(paramLabel = "P", description = "A plan file.")
    String plan = "";

    @Option(names = "--model", paramLabel = "MODEL", description = "The model, if it is no longer where the plan says.")
    @Nullable
    String model;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "R.html",
            defaultValue = "report.html",
            description = "The page (default ${DEFAULT-VALUE}).")
    Path output = Path.of("report.html");

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    @Override
    public Integer call() {
        Output.checkWritable(output);
        StoredPlan stored = PlanOptions.stored(plan, model);
        Output.write(output, ReportPage.of(stored.compiled(), stored.model().flat(), null));
        if (json) {
            Output.json(java.util.Map.of("report", output.toString()));
        } else {
            System.out.println("report: " + output);
        }
        return 0;
    }
}

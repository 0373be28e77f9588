package dev.drover.cli;

import dev.drover.plan.text.PlanText;
import dev.drover.planner.search.Planned;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover plan}. */
@Command(
        name = "plan",
        description = "Finds how to train a model on a cluster, and tells step time and memory.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover plan gpt:layers=4,hidden=128,batch=16 -c m8:1 -o plan.json"})
final class PlanCommand implements Callable<Integer> {
    @Parameters(paramLabel = "MODEL", description = "A file of HLO text, or a zoo name.")
    String model = "";

    @Mixin
    PlanOptions options = new PlanOptions();

    @Option(
            names = {"-o", "--output"},
            paramLabel = "P",
            description = "Write the plan to this file (JSON).")
    @Nullable
    Path output;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    @Override
    public Integer call() {
        if (output != null) {
            Output.checkWritable(output);
        }
        LoadedModel loaded = LoadedModel.load(model);
        long start = System.nanoTime();
        Planned planned = options.plan(loaded, StepMemory.of(loaded.flat()), 4);
        double millis = (System.nanoTime() - start) / 1e6;
        if (output != null) {
            Output.write(output, PlanText.print(planned.plan()));
        }
        if (json) {
            Output.json(PlanTables.json(planned, millis));
        } else {
            PlanTables.print(planned);
            System.out.println();
            System.out.println(
                    output == null
                            ? "The plan was not written. Maybe keep it with -o plan.json."
                            : "The plan is in " + output + ". Try: ./drover explain "
                                    + Output.quoted(output.toString()));
        }
        return 0;
    }
}

package dev.drover.cli;

import dev.drover.importers.ModelFile;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import dev.drover.plan.text.PlanText;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A model as the commands use it.
 *
 * @param source what the user wrote
 * @param step as it was read or built
 * @param flat the same, flat
 * @param zoo the zoo's model, or null for a file
 */
record LoadedModel(
        String source,
        TrainingStep step,
        TrainingStep flat,
        @Nullable Model zoo) {

    /** Reads a file, or builds a model of the zoo. */
    static LoadedModel load(String source) {
        Path file = Path.of(source);
        if (!source.isEmpty() && Files.exists(file)) {
            refusePlan(source, file);
            return of(source, ModelFile.load(file), null);
        }
        if (Zoo.isName(source)) {
            Model model = Zoo.parse(source);
            return of(source, model.step(), model);
        }
        throw new UserError(
                "The model (" + source + ") must be an existing file or a name of the zoo ("
                        + String.join(", ", Zoo.ALL.stream().map(k -> k.name()).toList())
                        + ").",
                "Maybe try gpt:layers=4,hidden=128,heads=4,seq=64,batch=16.");
    }

    private static void refusePlan(String source, Path file) {
        if (PlanOptions.isPlan(source) && PlanText.isPlan(file)) {
            throw new UserError(
                    "The model (" + source + ") must be a file of HLO text or a name of the zoo, but it is a plan.",
                    "Maybe give it to explain, report, simulate, train or verify, which take plans.");
        }
    }

    private static LoadedModel of(String source, TrainingStep step, @Nullable Model zoo) {
        return new LoadedModel(source, step, Flatten.run(step), zoo);
    }

    /** What a step consumes, and its unit. */
    long samples() {
        return zoo != null ? zoo.samples() : dev.drover.plan.stage.TimeCut.batchSize(flat);
    }

    String sampleUnit() {
        return zoo != null ? zoo.sampleUnit() : "sample";
    }
}

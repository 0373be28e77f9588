package dev.drover.cli;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.CachedCalibration;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.ClusterText;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.text.PlanText;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.Planned;
import dev.drover.planner.search.SearchOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of the commands that plan: the cluster, and what of a plan is given rather than searched. */
final class PlanOptions {
    @Option(
            names = {"-c", "--cluster"},
            paramLabel = "C",
            description = "A cluster file (YAML) or a preset: local:N, m8:N, s1:N, c1x:N, p3.8xlarge:N, a100:N, h100:N"
                    + " (default local:4).")
    @Nullable
    String cluster;

    @Option(
            names = "--workers",
            paramLabel = "N",
            description = "Worker processes on this machine; short for --cluster local:N.")
    @Nullable
    Integer workers;

    @Option(names = "--stages", paramLabel = "S", description = "Pipeline stages; searched if absent.")
    @Nullable
    Integer stages;

    @Option(
            names = "--mesh",
            paramLabel = "A[xB]",
            description = "Devices of each stage, as one or two axes such as 4 or 2x2; searched if absent.")
    @Nullable
    String mesh;

    @Option(names = "--micro-batches", paramLabel = "M", description = "Micro-batches of a step; searched if absent.")
    @Nullable
    Integer microBatches;

    @Option(
            names = "--schedule",
            paramLabel = "NAME",
            description = "Order of micro-batches: gpipe, 1f1b, .. (default 1f1b).")
    @Nullable
    String schedule;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "120",
            description = "A last resort: begin no further candidate after this time (default ${DEFAULT-VALUE}).")
    double timeoutSeconds;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Of all random choices (default ${DEFAULT-VALUE}).")
    long seed;

    /** The cluster that is asked for; {@code absent} workers on this machine if nothing is. */
    Cluster cluster(int absent) {
        if (cluster != null && workers != null) {
            throw new UserError(
                    "The options --cluster (" + cluster + ") and --workers (" + workers + ") must not be given both.");
        }
        if (workers != null && workers < 1) {
            throw new UserError("The workers (" + workers + ") must be at least 1.");
        }
        String text = cluster != null ? cluster : "local:" + (workers != null ? workers : absent);
        Path file = Path.of(text);
        if (isFile(text)) {
            try {
                return ClusterText.parse(Files.readString(file), text);
            } catch (IOException e) {
                throw new UserError(
                        "The cluster file (" + text + ") must be readable, but " + FileReason.of(e) + ".", e);
            }
        }
        return Presets.parse(text, calibration(text));
    }

    /** Whether a file is meant rather than a preset: it exists, or its name is that of one. */
    private static boolean isFile(String text) {
        Path file = Path.of(text);
        boolean named = text.matches(".*\\.(yaml|yml)") || text.contains("/");
        boolean preset = Presets.NAMES.contains(text.replaceFirst(":.*", ""));
        if (Files.isDirectory(file) && !text.isEmpty() && !preset) {
            throw new UserError("The cluster file (" + text + ") must be a file, but it is a folder.");
        }
        if (named && !Files.exists(file)) {
            throw new UserError(
                    "The cluster file (" + text + ") must exist.", "Maybe the path is relative to another folder.");
        }
        return !Files.isDirectory(file) && Files.exists(file);
    }

    /** Measures this machine once for each number of workers, and keeps what it found. */
    private static Calibration calibration(String preset) {
        int colon = preset.indexOf(':');
        String count = preset.substring(colon + 1);
        int workers = colon > 0 && count.matches("[1-9][0-9]{0,2}") ? Integer.parseInt(count) : 1;
        return () -> {
            Path all = MachineFolder.choose(
                    MachineFolder.all(), folder -> calibration(folder, workers).kept() != null, Output::progress);
            return new MeasuringAlone(all.resolve("measuring"), calibration(all, workers), Output::progress).measure();
        };
    }

    private static CachedCalibration calibration(Path all, int workers) {
        Path folder = all.resolve("calibration-" + workers);
        return new CachedCalibration(
                folder.resolve("figures.json"), new RuntimeCalibration(workers, folder), Output::progress);
    }

    SearchOptions searchOptions() {
        if (!(timeoutSeconds > 0)) {
            throw new UserError("The timeout (" + timeoutSeconds + ") must be above 0 seconds.");
        }
        SearchOptions options = new SearchOptions(stages, null, microBatches, schedule, timeoutSeconds, seed);
        return mesh == null ? options : options.withMesh(meshSizes(mesh));
    }

    private static List<Integer> meshSizes(String text) {
        List<Integer> sizes = new ArrayList<>();
        for (String part : text.split("x", -1)) {
            if (!part.matches("[1-9][0-9]{0,5}")) {
                throw new UserError("The mesh (" + text + ") must be like 4 or 2x2.");
            }
            sizes.add(Integer.valueOf(part));
        }
        return sizes;
    }

    /**
     * Searches, and tells what it does.
     *
     * @param memory of the model's step
     */
    Planned plan(LoadedModel model, DeviceMemory memory, int absentWorkers) {
        SearchOptions wanted = searchOptions();
        Cluster on;
        try (LongWork work = LongWork.begin("measuring")) {
            on = cluster(absentWorkers);
        }
        try (LongWork work = LongWork.begin("searching")) {
            return PlanSearch.search(model.flat(), model.source(), on, memory, wanted, work::progress);
        }
    }

    /** Whether an argument is a plan file. */
    static boolean isPlan(String argument) {
        return argument.endsWith(".json") && Files.isRegularFile(Path.of(argument));
    }

    /**
     * The plan that an argument names, or null if it names a model. Fails with {@link UserError} where an option would have no effect.
     *
     * @param modelSource of {@code --model}
     */
    @Nullable
    StoredPlan storedIfPlan(String argument, @Nullable String modelSource) {
        if (!isPlan(argument)) {
            if (modelSource != null) {
                throw new UserError(
                        "The option --model (" + modelSource + ") must be given with a plan file only, but (" + argument
                                + ") is none.",
                        isPlan(modelSource)
                                ? "Maybe write the plan first: " + modelSource + " --model " + argument + "."
                                : "Maybe leave out --model.");
            }
            return null;
        }
        Map<String, @Nullable Object> decided = new LinkedHashMap<>();
        decided.put("--cluster", cluster);
        decided.put("--workers", workers);
        decided.put("--stages", stages);
        decided.put("--mesh", mesh);
        decided.put("--micro-batches", microBatches);
        decided.put("--schedule", schedule);
        decided.forEach((option, given) -> {
            if (given != null) {
                throw new UserError(
                        "The option " + option + " (" + given + ") must be given with a model only, but (" + argument
                                + ") is a plan, which has decided that.",
                        "Maybe leave it out, or plan again.");
            }
        });
        return stored(argument, modelSource);
    }

    /** A plan that is stored, with the model that it names (or another source of the same model). */
    static StoredPlan stored(String argument, @Nullable String modelSource) {
        if (Zoo.isName(argument) || argument.matches(".*\\.hlo(\\.gz)?")) {
            throw new UserError(
                    "The plan file (" + argument + ") must be one that drover plan has written, but it is a model.",
                    "Maybe plan first: ./drover plan " + Output.quoted(argument) + " -o plan.json.");
        }
        var plan = PlanText.read(Path.of(argument));
        return new StoredPlan(
                plan,
                LoadedModel.load(
                        modelSource != null
                                ? modelSource
                                : modelOf(argument, plan.model().source())));
    }

    /** Where the model of a plan is: where the plan says, or beside the plan. */
    private static String modelOf(String planFile, String source) {
        if (source.isEmpty() || Zoo.isName(source) || Files.exists(Path.of(source))) {
            return source;
        }
        Path beside = Path.of(planFile).resolveSibling(source);
        if (Files.exists(beside)) {
            return beside.toString();
        }
        throw new UserError(
                "The model (" + source + ") of plan (" + planFile
                        + ") must be an existing file, here or beside the plan.",
                "Maybe say where it is with --model.");
    }
}

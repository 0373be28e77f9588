package dev.drover.cli;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.planner.search.Layout;
import dev.drover.planner.search.Planned;
import dev.drover.report.ReportPage;
import dev.drover.report.TrainingRecord;
import dev.drover.runtime.WorkerFailure;
import dev.drover.runtime.checkpoint.StoredState;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.StepReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover train}. */
@Command(
        name = "train",
        description = "Plans (unless a plan is given) and trains on worker processes of this machine.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover train gpt:layers=4,hidden=128,batch=16 --stages 2 --mesh 2"})
final class TrainCommand implements Callable<Integer> {
    @Parameters(paramLabel = "MODEL|P", description = "A file of HLO text, a zoo name, or a plan file.")
    String subject = "";

    @Mixin
    PlanOptions options = new PlanOptions();

    @Mixin
    RunOptions run = new RunOptions();

    @Option(
            names = "--model",
            paramLabel = "MODEL",
            description = "The model of a plan, if it is no longer where the plan says.")
    @Nullable
    String model;

    @Option(names = "--steps", paramLabel = "K", defaultValue = "20", description = "Steps (default ${DEFAULT-VALUE}).")
    int steps;

    @Option(
            names = "--data",
            paramLabel = "FILE",
            description = "Text for models of text, a byte a token: a file, or a folder of .txt and .md"
                    + " (default: Drover's own docs).")
    @Nullable
    Path data;

    @Option(
            names = "--inputs",
            paramLabel = "F.safetensors",
            description = "First inputs, named as the model's or numbered in their order.")
    @Nullable
    Path inputsFile;

    @Option(
            names = "--checkpoint",
            paramLabel = "DIR",
            description = "Save the state here at the end; go on from what is there already.")
    @Nullable
    Path checkpoint;

    @Option(names = "--checkpoint-every", paramLabel = "K", description = "Save the state after each K steps too.")
    @Nullable
    Integer checkpointEvery;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    /** By step, of all workers together. */
    private final List<Double> processorMillis = new ArrayList<>();

    /** NaN where the plan was made for other machines. */
    private double predictedStepMillis;

    private double predictedProcessorMillis;
    private boolean lossWasFinite = true;
    /** Null without a folder for checkpoints, and before training. */
    private volatile @Nullable Saves saves;
    /** Steps of this training that all workers have ended. */
    private volatile int ended;

    @Override
    public Integer call() {
        run.check();
        // Before the search, so that what is wrong is told at once.
        try (PortClaim port = PortClaim.of(run.port)) {
            run.checkPlaces();
            checkOwn();
            try (FolderClaim logs = run.claim();
                    FolderClaim states = claimCheckpoint()) {
                return planAndTrain(port);
            }
        }
    }

    /** Null where there is no checkpoint folder of its own. */
    private @Nullable FolderClaim claimCheckpoint() {
        return checkpoint == null
                        || checkpoint
                                .toAbsolutePath()
                                .normalize()
                                .equals(run.folder().toAbsolutePath().normalize())
                ? null
                : FolderClaim.of("checkpoint folder", checkpoint);
    }

    private int planAndTrain(PortClaim port) {
        StoredPlan given = options.storedIfPlan(subject, model);
        LoadedModel loaded = given != null ? given.model() : LoadedModel.load(subject);
        DeviceMemory memoryOfStep = StepMemory.ofRun(loaded.flat());
        ModelInputs inputs = inputsFile != null
                ? ModelInputs.ofTensors(loaded.flat(), inputsFile)
                : ModelInputs.of(loaded, data, options.seed);
        StoredState before = stateBefore(loaded.flat());
        Planned planned = given != null ? given.compiled(memoryOfStep) : options.plan(loaded, memoryOfStep, 4);
        ThisMachine.checkMemory(planned.simulated().memory());
        int workers = planned.execution().workers().size();
        ThisMachine.tellIfCrowded(workers, run.threads);
        boolean elsewhere = Presets.isElsewhere(planned.plan().cluster().name());
        predictedStepMillis = elsewhere ? Double.NaN : planned.simulated().stepNanos() / 1e6;
        predictedProcessorMillis = elsewhere ? Double.NaN : planned.simulated().processorNanos() / 1e6;
        Output.progress(inputs.note());
        Output.progress("plan: " + Layout.of(planned.plan()).text()
                + (elsewhere
                        ? "; made for " + planned.plan().cluster().name() + ", so no prediction for this machine"
                        : "; predicted step " + Output.time(planned.simulated().stepNanos())));
        TrainingRecord record;
        List<AllocatedMemory> memory = new ArrayList<>();
        try (LongWork work = LongWork.begin("starting workers");
                Workers processes = Workers.start(workers, port.release(), run.threads, run.folder())) {
            work.doing("loading");
            Execution execution = processes.load(planned.execution(), inputs);
            try (LastWord word = new LastWord(() -> "stopped after step " + stepsEnded(before) + whatIsLeft(before))) {
                record = train(work, execution, loaded, planned, inputs, before);
            } catch (WorkerFailure e) {
                if (!LastWord.isDue()) {
                    work.progress("a worker failed; the last step that all have ended is " + stepsEnded(before)
                            + whatIsLeft(before));
                }
                throw e;
            }
            for (MemoryUse use : planned.simulated().memory()) {
                memory.add(AllocatedMemory.of(
                        use,
                        execution.facts().get(use.rank()),
                        record.peakBytes().get(use.rank())));
            }
        }
        boolean stored = writePage(planned, loaded, record);
        print(record, memory, stored ? run.page() : null);
        Saves saving = saves;
        if (saving != null) {
            saving.tellLost();
        }
        return stored && (saving == null || !saving.isLost()) ? 0 : Main.NOT_SAVED;
    }

    /** The last step that all have ended; each step is told by all of them at once. */
    private long stepsEnded(@Nullable StoredState before) {
        return (before == null ? 0 : before.step()) + ended;
    }

    /** After a failure: from where it can go on. */
    private String whatIsLeft(@Nullable StoredState before) {
        Saves saving = saves;
        Path saved = saving == null ? null : saving.newest();
        saved = saved == null && before != null ? before.folder() : saved;
        return saved != null
                ? "; the same command goes on from " + saved
                : "; no state is saved" + (checkpoint == null ? ", since there is no --checkpoint" : "");
    }

    /** A disk that is full by now takes nothing of what was computed. */
    private boolean writePage(Planned planned, LoadedModel loaded, TrainingRecord record) {
        try {
            Output.write(run.page(), ReportPage.of(planned, loaded.flat(), record));
            return true;
        } catch (UserError e) {
            Output.progress(String.valueOf(e.getMessage()));
            return false;
        }
    }

    /** Fails with {@link UserError} where an option makes no sense or the checkpoint can neither be read nor be written. */
    private void checkOwn() {
        if (steps < 1) {
            throw new UserError("The steps (" + steps + ") must be at least 1.");
        }
        if (data != null && inputsFile != null) {
            throw new UserError(
                    "The options --data (" + data + ") and --inputs (" + inputsFile + ") must not be given both.");
        }
        if (checkpointEvery != null && (checkpoint == null || checkpointEvery < 1)) {
            throw new UserError(
                    "The option --checkpoint-every (" + checkpointEvery
                            + ") must be at least 1 and given with --checkpoint.",
                    "Maybe add --checkpoint DIR.");
        }
        if (checkpoint != null) {
            Output.checkFolder("checkpoint folder", checkpoint);
        }
    }

    /** What a checkpoint must hold: by name, the shapes of the inputs that a step updates. */
    private static Map<String, ArrayShape> stateShapes(TrainingStep step) {
        Map<String, ArrayShape> shapes = new TreeMap<>();
        boolean[] stateByInput = step.stateByInput();
        for (int i = 0; i < stateByInput.length; i++) {
            if (stateByInput[i]) {
                shapes.put(step.inputs().get(i).name(), step.inputShapes().get(i));
            }
        }
        return shapes;
    }

    /** What to go on from, all of it checked; null to begin anew. */
    private @Nullable StoredState stateBefore(TrainingStep step) {
        if (checkpoint == null || !holdsAnything(checkpoint)) {
            return null;
        }
        try (LongWork work = LongWork.begin("checking the checkpoint")) {
            StoredState before = StoredState.open(checkpoint, stateShapes(step));
            if (!before.hasChecksums()) {
                work.progress("the checkpoint (" + before.folder()
                        + ") is of an older Drover and has no checksums, so damage to it would not be seen;"
                        + " those that are saved now have them");
            }
            return before;
        }
    }

    /** An empty folder, made for the purpose, is as good as none. */
    private static boolean holdsAnything(Path folder) {
        if (!Files.isDirectory(folder)) {
            return false;
        }
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.anyMatch(entry -> !entry.endsWith(FolderClaim.FILE));
        } catch (IOException e) {
            throw new UserError(
                    "The checkpoint folder (" + folder + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
    }

    private TrainingRecord train(
            LongWork work,
            Execution execution,
            LoadedModel loaded,
            Planned planned,
            ModelInputs inputs,
            @Nullable StoredState before) {
        TrainingStep step = loaded.flat();
        List<String> names = step.inputs().stream().map(InputRole::name).toList();
        long from = before == null ? 0 : before.step();
        if (before != null) {
            work.doing("restoring");
            execution.restore(names, before);
            work.progress("going on after step " + from + " from " + before.folder());
        }
        if (!hasLoss(loaded)) {
            work.progress("no output of " + loaded.source() + " is known to be its loss, so none is shown.\n"
                    + "Maybe name it in a file " + loaded.source() + ".roles.json, as in"
                    + " {\"outputs\": {\"0\": \"LOSS\"}}.");
        }
        List<Double> losses = new ArrayList<>();
        List<Double> millis = new ArrayList<>();
        long[] peaks = new long[planned.execution().workers().size()];
        int every = checkpointEvery != null ? Math.min(checkpointEvery, steps) : steps;
        Saves saving = checkpoint == null
                ? null
                : new Saves(checkpoint, work::progress, (root, at) -> execution.save(names, root, at));
        saves = saving;
        int ahead = inputs.stepsAhead(step);
        for (int done = 0, now; done < steps; done += now) {
            now = Math.min(Math.min(ahead, steps - done), every - done % every);
            work.doing("training");
            Workers.feed(execution, inputs, from + done, now);
            execution.run(from + done, now, reports -> {
                double loss = step.loss() < 0 ? Double.NaN : Execution.scalar(reports, step.loss());
                if (hasLoss(loaded)) {
                    losses.add(loss);
                }
                double slowest = StepReport.slowestNanos(reports);
                millis.add(slowest / 1e6);
                processorMillis.add(StepReport.totalProcessorNanos(reports) / 1e6);
                for (int rank = 0; rank < peaks.length; rank++) {
                    peaks[rank] = Math.max(peaks[rank], reports.get(rank).peakBytes());
                }
                ended = millis.size();
                progress(work, from, ended, loss, slowest, loaded);
            });
            boolean last = done + now == steps;
            if (saving != null && ((done + now) % every == 0 || last)) {
                work.doing("saving");
                saving.save(from + done + now, last ? 0 : from + Math.min(steps, done + now + every));
            }
        }
        return new TrainingRecord(
                loaded.source(),
                before == null ? null : before.folder().toString(),
                from + 1,
                losses,
                millis,
                median(millis),
                loaded.samples() * 1000.0 / median(millis),
                loaded.sampleUnit(),
                predictedStepMillis,
                Arrays.stream(peaks).boxed().toList());
    }

    /** @param from steps of the state that was gone on from, which count too */
    private void progress(LongWork work, long from, int count, double loss, double nanos, LoadedModel loaded) {
        if (count <= 5 || count % Math.max(1, steps / 20) == 0 || count == steps || work.isQuiet()) {
            work.progress(String.format(
                    Locale.ROOT,
                    "step %4d/%d%s  %8.2f ms  %,.0f %ss/s%s",
                    from + count,
                    from + steps,
                    hasLoss(loaded) ? String.format(Locale.ROOT, "  loss %.4f", loss) : "",
                    nanos / 1e6,
                    loaded.samples() * 1e9 / nanos,
                    loaded.sampleUnit(),
                    Double.isNaN(predictedStepMillis)
                            ? ""
                            : String.format(
                                    Locale.ROOT,
                                    "  (predicted %.2f ms, %+.0f %%)",
                                    predictedStepMillis,
                                    100 * (predictedStepMillis * 1e6 / nanos - 1))));
        }
        if (Double.isFinite(loss) || !hasLoss(loaded)) {
            lossWasFinite = true;
        } else if (lossWasFinite) {
            lossWasFinite = false;
            work.progress("the loss is " + loss + " since step " + (from + count)
                    + ".\nMaybe take a smaller learning rate, or look at the data.");
        }
    }

    private static boolean hasLoss(LoadedModel loaded) {
        return loaded.flat().loss() >= 0;
    }

    /** The first step pays for warming up. */
    private static double median(List<Double> values) {
        List<Double> sorted = values.subList(values.size() > 4 ? 2 : 0, values.size()).stream()
                .sorted()
                .toList();
        return sorted.get(sorted.size() / 2);
    }

    private static @Nullable Double orNull(double value) {
        return Double.isNaN(value) ? null : value;
    }

    private void print(TrainingRecord record, List<AllocatedMemory> memory, @Nullable Path page) {
        if (json) {
            Map<String, @Nullable Object> out = new LinkedHashMap<>();
            out.put("model", record.model());
            out.put("firstStep", record.firstStep());
            out.put("resumedFrom", record.resumedFrom());
            out.put("losses", record.losses());
            out.put("stepMillis", record.medianStepMillis());
            out.put("stepMillisByStep", record.stepMillis());
            out.put("processorMillisByStep", processorMillis);
            out.put("predictedProcessorMillis", orNull(predictedProcessorMillis));
            out.put(record.unit().equals("token") ? "tokensPerSecond" : "samplesPerSecond", record.perSecond());
            out.put("predictedStepMillis", orNull(predictedStepMillis));
            out.put("peakMemoryBytes", record.peakBytes());
            out.put("memory", memory.stream().map(AllocatedMemory::json).toList());
            out.put("report", page == null ? null : page.toString());
            Saves saving = saves;
            Path saved = saving == null ? null : saving.newest();
            out.put("checkpoint", saved == null ? null : saved.toString());
            out.put("lastStateSaved", saving == null ? null : !saving.isLost());
            Output.json(out);
            return;
        }
        System.out.printf(
                Locale.ROOT,
                "%s%s; %.2f ms a step (median), %,.0f %ss/s%s%n",
                record.losses().isEmpty()
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                "loss %.4f -> %.4f after ",
                                record.losses().get(0),
                                record.losses().get(record.losses().size() - 1)),
                record.stepsText(),
                record.medianStepMillis(),
                record.perSecond(),
                record.unit(),
                Double.isNaN(predictedStepMillis)
                        ? ""
                        : String.format(Locale.ROOT, "; predicted %.2f ms", predictedStepMillis));
        AllocatedMemory.print(memory);
        if (page != null) {
            System.out.println("report: " + page);
        }
    }
}

package dev.drover.cli;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.RandomStrategies;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ReferenceRun;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.pipeline.StagePlanner;
import dev.drover.planner.search.Layout;
import dev.drover.planner.search.Layouts;
import dev.drover.planner.search.Planned;
import dev.drover.runtime.coordinator.Execution;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover verify}. */
@Command(
        name = "verify",
        description = "Runs a plan on worker processes and the unpartitioned model, and compares every output.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover verify gpt:layers=2,hidden=64,batch=8 --workers 4 --random 3"})
final class VerifyCommand implements Callable<Integer> {
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

    @Option(
            names = "--inputs",
            paramLabel = "F.safetensors",
            description =
                    "Inputs, named as the model's (those that are not there are made up), or numbered in their order"
                            + " (default: all are made up).")
    @Nullable
    Path inputsFile;

    @Option(
            names = "--expected",
            paramLabel = "G.safetensors",
            description = "Outputs to compare with (default: what the unpartitioned model computes).")
    @Nullable
    Path expectedFile;

    @Option(
            names = "--random",
            paramLabel = "K",
            defaultValue = "0",
            description = "Also verify K random legal plans (default ${DEFAULT-VALUE}).")
    int random;

    @Option(
            names = "--in-process",
            description = "Run the plan by the reference evaluator in this process, without workers.")
    boolean inProcess;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    /** An execution plan and what it is called. */
    private record Trial(String name, ExecutionPlan plan) {}

    @Override
    public Integer call() {
        run.check();
        if (random < 0) {
            throw new UserError("The number (" + random + ") of random plans must be at least 0.");
        }
        if (expectedFile != null && inputsFile == null) {
            throw new UserError(
                    "The option --expected (" + expectedFile + ") must be given with --inputs, since outputs belong to"
                            + " inputs and Drover makes up others.",
                    "Maybe add --inputs F.safetensors.");
        }
        if (inProcess) {
            return planAndCompare(PortClaim.ANY);
        }
        try (PortClaim port = PortClaim.of(run.port)) {
            run.checkPlaces();
            try (FolderClaim logs = run.claim()) {
                return planAndCompare(port);
            }
        }
    }

    private int planAndCompare(PortClaim port) {
        StoredPlan stored = options.storedIfPlan(subject, model);
        LoadedModel loaded = stored != null ? stored.model() : LoadedModel.load(subject);
        TrainingStep step = loaded.flat();
        DeviceMemory memory = inProcess ? StepMemory.of(step) : StepMemory.ofRun(step);
        // Before the search, so that a wrong file is told at once.
        ModelInputs inputs = inputsFile != null
                ? ModelInputs.ofSomeTensors(loaded, inputsFile, expectedFile, options.seed)
                : ModelInputs.of(loaded, null, options.seed);
        if (inputsFile != null) {
            Output.progress(inputs.note());
        }
        List<Literal> given = expectedFile != null ? TensorFile.outputs(step, expectedFile) : List.of();
        if (expectedFile == null || inProcess) {
            ThisMachine.checkWhole(step);
        }
        Planned planned = stored != null ? stored.compiled(memory) : options.plan(loaded, memory, 4);
        ThisMachine.checkMemory(planned.simulated().memory());
        try (LongWork work = LongWork.begin("verifying")) {
            return compare(port, step, inputs, given, planned, stored != null ? "the plan" : "the plan found");
        }
    }

    private int compare(
            PortClaim port, TrainingStep step, ModelInputs inputs, List<Literal> given, Planned planned, String name) {
        List<Trial> trials = new ArrayList<>();
        trials.add(new Trial(name, planned.execution()));
        int workers = planned.execution().workers().size();
        if (!inProcess) {
            ThisMachine.tellIfCrowded(workers, run.threads);
        }
        for (int i = 0; i < random; i++) {
            trials.add(randomTrial(step, workers, options.seed * 1000 + i));
        }
        WholeStep whole =
                WholeStep.of(step, inProcess, () -> Workers.start(1, port.release(), run.threads, run.folder()));
        if (expectedFile == null) {
            Output.progress(
                    whole.worker() == null
                            ? "evaluating the unpartitioned model by the reference evaluator"
                            : "running the unpartitioned model on one worker");
        }
        List<Literal> expected = expectedFile != null ? given : whole.outputs(inputs);
        RoundingSpread rounding = rounding(step, inputs);
        Comparison all = Comparison.NONE;
        String firstWrongTrial = "";
        if (inProcess) {
            for (Trial trial : trials) {
                List<Literal> got = ReferenceRun.run(trial.plan(), inputs.whole(step, 0), step.outputShapes());
                Comparison one = report(trial, Comparison.of(got, expected, rounding));
                firstWrongTrial = all.equal() && !one.equal() ? trial.name() : firstWrongTrial;
                all = all.and(one);
            }
        } else {
            try (Workers processes = Workers.start(workers, port.release(), run.threads, run.folder())) {
                for (Trial trial : trials) {
                    Execution execution = processes.load(trial.plan(), inputs);
                    Comparison one = report(
                            trial, Comparison.of(WholeStep.outputs(execution, inputs, step), expected, rounding));
                    firstWrongTrial = all.equal() && !one.equal() ? trial.name() : firstWrongTrial;
                    all = all.and(one);
                }
            }
        }
        print(all, trials.size(), workers, firstWrongTrial);
        return all.equal() ? 0 : Main.USER_MISTAKE;
    }

    /** How far rounding moves the outputs, computed when it is first asked for, beside the workers of the plans. */
    private RoundingSpread rounding(TrainingStep step, ModelInputs inputs) {
        Supplier<WholeStep> whole = () -> {
            Output.progress(
                    "running the unpartitioned model several times with inputs and results moved in their last places,"
                            + " to see how far rounding alone moves its outputs");
            return WholeStep.of(
                    step,
                    inProcess,
                    () -> Workers.start(1, 0, run.threads, run.folder().resolve("rounding")));
        };
        return RoundingSpread.of(whole, inputs);
    }

    private static Comparison report(Trial trial, Comparison result) {
        Comparison.Wrong wrong = result.firstWrong();
        Output.progress(String.format(
                Locale.ROOT,
                "%s: %s, %s",
                trial.name(),
                wrong == null ? "equal" : "WRONG, " + wrong.text(),
                result.errors()));
        return result;
    }

    /** Any legal plan: layout and strategies by chance. */
    private Trial randomTrial(TrainingStep step, int workers, long seed) {
        Random draw = new Random(seed * 0x9E3779B97F4A7C15L);
        long batch = TimeCut.batchSize(step);
        UserError last = null;
        for (int tries = 0; tries < 20; tries++) {
            Layout layout = Layouts.draw(workers, draw);
            if (batch % layout.microBatches() != 0) {
                continue;
            }
            Mesh mesh = layout.mesh();
            try {
                CutStep cut = PlanCompiler.cut(step, layout.microBatches(), layout.stages());
                StageAssignment assignment =
                        StagePlanner.plan(cut, layout.stages()).assignment();
                Resharder resharder = new Resharder(mesh, new MeshCollectives(options.cluster(workers), mesh, 0));
                ExecutionPlan plan = PlanCompiler.compile(
                        cut,
                        assignment,
                        RandomStrategies.draw(cut.computation(), PlanCompiler.updatedParameters(cut), mesh, seed),
                        resharder,
                        layout.schedule());
                return new Trial("random plan " + seed + " (" + layout.text() + ")", plan);
            } catch (UserError e) {
                last = e;
            }
        }
        throw last != null ? last : new UserError("A random plan for " + workers + " workers must exist.");
    }

    private void print(Comparison all, int plans, int workers, String firstWrongTrial) {
        Comparison.Wrong wrong = all.firstWrong();
        if (json) {
            Map<String, Object> out = new LinkedHashMap<>();
            out.put("equal", all.equal());
            out.put("compared", all.compared());
            out.put("worstRelativeError", all.worst());
            out.put("roundingSensitive", all.sensitive());
            out.put("worstRoundingSensitiveError", all.worstSensitive());
            out.put("noNumbers", all.noNumbers());
            out.put("workers", workers);
            out.put("plans", plans);
            if (wrong != null) {
                out.put("firstWrong", firstWrongTrial + ": " + wrong.text());
            }
            Output.json(out);
            return;
        }
        System.out.printf(
                Locale.ROOT,
                "%s: %d outputs of %d plan%s on %d workers compared, %s%n",
                all.equal() ? "equal" : "NOT equal",
                all.compared(),
                plans,
                plans == 1 ? "" : "s",
                workers,
                all.errors());
        if (wrong != null) {
            System.out.println(firstWrongTrial + ": " + wrong.text());
        }
    }
}

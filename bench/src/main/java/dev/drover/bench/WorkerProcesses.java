package dev.drover.bench;

import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.backend.torch.worker.TorchWorkerMain;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.pass.Flatten;
import dev.drover.ir.type.DType;
import dev.drover.models.BatchInput;
import dev.drover.models.Model;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.cluster.Presets;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.Planned;
import dev.drover.planner.search.SearchOptions;
import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.launch.LocalLauncher;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.runtime.worker.InitialState;
import dev.drover.runtime.worker.StepReport;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** A model of the zoo on worker processes, as {@code drover train} runs it, with the plan that the search finds for one mesh axis. */
final class WorkerProcesses implements Contender {
    private final Cluster cluster;
    private final Execution execution;
    private final Map<Integer, TensorBytes> batch = new HashMap<>();
    private long done;

    WorkerProcesses(Model model, int workers, int threads) throws IOException {
        TrainingStep flat = Flatten.run(model.step());
        Calibration figures = () -> new Calibration.Figures(
                workers, Map.of(DType.F32.hloName(), 120e9), 8L << 30, 10e9, 2_000, 2e9, 100_000, Measured.NONE);
        Planned planned = PlanSearch.search(
                flat,
                model.name(),
                Presets.parse("local:" + workers, figures),
                new TorchDeviceMemory(),
                SearchOptions.OPEN.withStages(1).withMesh(List.of(workers)).withMicroBatches(1),
                message -> {});
        System.out.println("plan: mesh " + planned.plan().mesh() + ", collectives of a step: "
                + planned.execution().programs().stream()
                        .flatMap(p -> p.computation().instructions().stream())
                        .filter(i -> i.op().opcode().startsWith("all-")
                                || i.op().opcode().startsWith("reduce-scatter"))
                        .map(i -> i.op().opcode() + " " + i.shape())
                        .toList());
        LocalLauncher launcher =
                new LocalLauncher(Files.createTempDirectory("drover-bench"), threads, TorchWorkerMain.JVM_OPTIONS);
        this.cluster = Cluster.start(ClusterOptions.of(TorchWorkerMain.class.getName()), launcher, workers);
        Map<Integer, InitialValue> rules = new TreeMap<>();
        for (int i = 0; i < model.initialValues().size(); i++) {
            rules.put(i, model.initialValues().get(i));
        }
        this.execution =
                Execution.load(cluster, planned.execution(), new InitialState(1, rules), Duration.ofMinutes(5));
        Random random = new Random(3);
        for (int i = 0; i < model.batch().size(); i++) {
            BatchInput input = model.batch().get(i);
            long[] tokens = new long[(int) input.shape().elements()];
            Arrays.setAll(tokens, t -> random.nextInt((int) input.limit()));
            batch.put(model.initialValues().size() + i, TensorBytes.of(Literal.ofLongs(input.shape(), tokens)));
        }
    }

    @Override
    public String name() {
        return "drover workers";
    }

    @Override
    public Turn step() {
        execution.feed(List.of(batch));
        double[] wall = new double[1];
        double cpu = cpuMillis();
        execution.run(done++, 1, reports -> wall[0] = StepReport.slowestNanos(reports) / 1e6);
        return new Turn(wall[0], cpuMillis() - cpu);
    }

    private static double cpuMillis() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").endsWith("java"))
                .mapToLong(child ->
                        child.info().totalCpuDuration().orElse(Duration.ZERO).toMillis())
                .sum();
    }

    @Override
    public void close() {
        cluster.close();
    }
}

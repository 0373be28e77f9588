package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.InitialState;
import dev.drover.runtime.worker.StepReport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Measures this machine with what will really run on it: as many worker processes as the cluster has devices run small programs at the
 * same time, through the same tasks, kernels and communicators as a training step. Each program is a chain of one op:
 *
 * <pre>
 *   dot of 512 x 512          -> flops per second          dot of 8 x 8              -> time of an op however small
 *   add over 4 MiB            -> memory bytes per second   all-reduce of 256 bytes   -> latency
 *                                                          all-reduce of 4 MiB       -> bandwidth
 * </pre>
 */
final class RuntimeCalibration implements Calibration {
    private static final int STEPS = 7;
    private static final ValueRef X = new ValueRef("x", false);
    private static final ValueRef Y = new ValueRef("y", false);
    private static final String DOT = "dot(%s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    private static final String ALL_REDUCE = "all-reduce(%s), channel_id=1, replica_groups={{GROUP}}, to_apply=sum";

    private final int workers;
    private final Path folder;

    /**
     * @param workers that will share the machine
     * @param folder for the workers' logs
     */
    RuntimeCalibration(int workers, Path folder) {
        this.workers = workers;
        this.folder = folder;
    }

    @Override
    public Figures measure() {
        Output.progress("measuring this machine with " + workers + " workers (some seconds, kept in " + folder + ")");
        int cores = Runtime.getRuntime().availableProcessors();
        double share = Math.min(1.0, (double) cores / workers);
        try (Workers processes = Workers.start(workers, 0, 0, folder)) {
            double smallDot = nanosPerOp(processes, ArrayShape.of(DType.F32, 8, 8), DOT, 2000);
            double largeDot = nanosPerOp(processes, ArrayShape.of(DType.F32, 512, 512), DOT, 6);
            // Fused by the backend as chains of a model are.
            double add = nanosPerOp(processes, ArrayShape.of(DType.F32, 1 << 20), "add(%s, x)", 6);
            double latency = 20_000;
            double bandwidth = 2e9;
            if (workers > 1) {
                double small = nanosPerOp(processes, ArrayShape.of(DType.F32, 64), ALL_REDUCE, 10);
                double large = nanosPerOp(processes, ArrayShape.of(DType.F32, 1 << 20), ALL_REDUCE, 3);
                latency = small / (2.0 * (workers - 1));
                double moved = 2.0 * (workers - 1) / workers * (4 << 20) * workers;
                bandwidth = moved * 1e9 / Math.max(1, large - small);
            }
            double dotNanos = Math.max(1, largeDot - smallDot);
            return new Figures(
                    cores,
                    Map.of("f32", 2.0 * 512 * 512 * 512 * 1e9 / dotNanos / share),
                    (long) (physicalMemoryBytes() * 0.75),
                    3.0 * (4 << 20) * 1e9 / Math.max(1, add - smallDot) / share,
                    Math.round(smallDot),
                    bandwidth,
                    Math.round(latency));
        }
    }

    private static long physicalMemoryBytes() {
        return java.lang.management.ManagementFactory.getOperatingSystemMXBean()
                        instanceof com.sun.management.OperatingSystemMXBean system
                ? system.getTotalMemorySize()
                : Runtime.getRuntime().maxMemory();
    }

    private double nanosPerOp(Workers processes, ArrayShape shape, String op, int count) {
        Execution execution = processes.load(
                plan(shape, op, count), new ModelInputs(InitialState.NONE, Map.of(), new TreeMap<>(), ""));
        double[] values = new double[Math.toIntExact(shape.elements())];
        java.util.Arrays.fill(values, 1e-3);
        execution.setState(0, Literal.ofDoubles(shape, values));
        List<Double> nanos = new ArrayList<>();
        execution.run(
                0,
                STEPS,
                reports -> nanos.add((double) reports.stream()
                        .mapToLong(StepReport::elapsedNanos)
                        .max()
                        .orElse(0)));
        nanos.sort(Double::compare);
        return nanos.get(STEPS / 2) / count;
    }

    private ExecutionPlan plan(ArrayShape shape, String op, int count) {
        String group = String.join(
                ",", IntStream.range(0, workers).mapToObj(String::valueOf).toList());
        StringBuilder text = new StringBuilder("HloModule calibration\n\nsum {\n  a = f32[] parameter(0)\n"
                + "  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\nENTRY main {\n  x = " + shape
                + " parameter(0)\n");
        String last = "x";
        for (int i = 0; i < count; i++) {
            String applied = String.format(java.util.Locale.ROOT, op, last).replace("GROUP", group);
            text.append("  v")
                    .append(i)
                    .append(" = ")
                    .append(shape)
                    .append(' ')
                    .append(applied)
                    .append('\n');
            last = "v" + i;
        }
        text.append("  ROOT out = (")
                .append(shape)
                .append(") tuple(")
                .append(last)
                .append(")\n}\n");
        Computation computation = HloReader.read("calibration", text).entry();
        Program program = new Program("calibration", 0, Phase.POST, computation, List.of(X), List.of(Y));
        List<Integer> ranks = IntStream.range(0, workers).boxed().toList();
        List<WorkerPlan> all = new ArrayList<>();
        for (int rank : ranks) {
            all.add(new WorkerPlan(
                    rank,
                    0,
                    ranks,
                    List.of(new Feed(X, 0, new TensorSlice(shape, List.of()), true, null)),
                    List.of(new Task.Run(0, -1), new Task.Free(Y, -1)),
                    List.of()));
        }
        return new ExecutionPlan(1, List.of(program), all);
    }
}

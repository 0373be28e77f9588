package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Measured;
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
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Measures this machine with what will really run on it: as many worker processes as the cluster has devices run small programs at the
 * same time, through the same tasks, kernels and communicators as a training step. Each program repeats one unit of work on a matrix:
 *
 * <pre>
 *   dot of n x n, n = 8 .. 512                 -> time of a call, of products by flops
 *   a chain of two ops, a logistic function    -> passes over memory, transcendental functions
 *   dot and all-reduce, among all and by pairs -> collectives by bytes, between computations as they are in a step
 *   a value sent back and forth                -> latency and bandwidth between stages
 * </pre>
 */
final class RuntimeCalibration implements Calibration {
    private static final int COMPUTE_STEPS = 7;
    private static final double COMPUTE_STEP_NANOS = 20e6;
    private static final int EXCHANGE_STEPS = 41;
    private static final int MESSAGES = 16;
    private static final int MESSAGE_STEPS = 31;
    private static final int MOST_REPEATS = 2000;
    /** Before it is measured, each unit is run for so long. */
    private static final long SETTLE_NANOS = 200_000_000L;

    private static final ValueRef X = new ValueRef("x", false);
    private static final ValueRef Y = new ValueRef("y", false);
    private static final long WARM_UP_NANOS = 2_000_000_000L;
    /** Four kernels of several kinds, as a step mixes them. */
    private static final List<String> SMALL_KERNELS = List.of(
            "logistic(IN)",
            "reverse(IN), dimensions={0}",
            "ROW reduce(IN, zero), dimensions={1}, to_apply=sum",
            "broadcast(IN), dimensions={0}",
            "add(IN, x)");

    /** One kernel: a chain. */
    private static final List<String> TWO_OPS = List.of("add(IN, x)", "multiply(IN, x)");

    private static final String DOT = "dot(IN, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    private static final String ALL_REDUCE = "all-reduce(IN), channel_id=1, replica_groups={GROUPS}, to_apply=sum";
    /** Elementwise work is measured on so many rows of 256. */
    private static final int ROWS = 512;

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
            warmUp(processes);
            SortedMap<String, SortedMap<Long, Double>> nanos = new TreeMap<>();
            for (int n : new int[] {8, 64, 128, 512}) {
                double dot = unitNanos(
                        processes, square(n), List.of(DOT), Math.min(100, Math.max(4, (1 << 25) / (n * n * n))));
                put(nanos, "dot", 2L * n * n * n, dot);
            }
            put(nanos, "kernel", 1, unitNanos(processes, square(16), SMALL_KERNELS, 8) / 4);
            ArrayShape matrix = ArrayShape.of(DType.F32, ROWS, 256);
            double pass = unitNanos(processes, matrix, TWO_OPS, 1);
            double chain = 9 * unitNanos(processes, matrix, TWO_OPS, 9);
            double step = Math.max(0.01 * pass, (chain - pass) / 16);
            put(nanos, "chain", matrix.elements(), step);
            double divisions = unitNanos(processes, matrix, List.of("divide(x, IN)"), 16);
            put(nanos, "division", matrix.elements(), Math.max(step, (16 * divisions - pass + 2 * step) / 16));
            put(nanos, "pass", 2 * matrix.sizeBytes(), Math.max(0.1 * pass, pass - 2 * step));
            ArrayShape large = ArrayShape.of(DType.F32, 4096, 512);
            double largePass = unitNanos(processes, large, TWO_OPS, 1);
            double largeSteps = 2 * step * large.elements() / matrix.elements();
            put(nanos, "pass", 2 * large.sizeBytes(), Math.max(0.1 * largePass, largePass - largeSteps));
            // The backend makes a kernel of each, which passes over memory too.
            double logistic = unitNanos(processes, matrix, List.of("logistic(IN)"), 3);
            put(nanos, "transcendental", matrix.elements(), Math.max(0.1 * logistic, logistic - pass));
            if (workers > 1) {
                collectives(processes, workers, nanos);
            }
            if (workers > 2 && workers % 2 == 0) {
                collectives(processes, 2, nanos);
            }
            return figures(processes, cores, share, new Measured(workers > cores ? cores : 0, nanos));
        }
    }

    /** Until the workers' code is compiled; steps of a training are many. */
    private void warmUp(Workers processes) {
        List<String> unit = new ArrayList<>(List.of(DOT));
        unit.addAll(Collections.nCopies(12, "add(IN, x)"));
        unit.addAll(SMALL_KERNELS);
        if (workers > 1) {
            unit.add(ALL_REDUCE.replace("GROUPS", groups(workers)));
        }
        long start = System.nanoTime();
        while (System.nanoTime() - start < WARM_UP_NANOS) {
            double unused = medianNanos(processes, square(128), unit, 4, 20, 10, StepReport::elapsedNanos);
        }
    }

    private void collectives(Workers processes, int members, SortedMap<String, SortedMap<Long, Double>> nanos) {
        Measured dots = new Measured(0, nanos);
        for (int n : new int[] {8, 128, 512}) {
            double unit =
                    exchangeNanos(processes, square(n), List.of(DOT, ALL_REDUCE.replace("GROUPS", groups(members))), 4);
            double product = dots.nanos("dot", 2.0 * n * n * n);
            put(nanos, "all-reduce/" + members, 4L * n * n, Math.max(0.2 * unit, unit - product));
        }
    }

    private static ArrayShape square(int n) {
        return ArrayShape.of(DType.F32, n, n);
    }

    private static void put(SortedMap<String, SortedMap<Long, Double>> nanos, String kind, long size, double time) {
        nanos.computeIfAbsent(kind, k -> new TreeMap<>()).put(size, (double) Math.round(time));
    }

    /** {@code {0,1},{2,3}}: all workers in groups of so many. */
    private String groups(int members) {
        List<String> groups = new ArrayList<>();
        for (int first = 0; first < workers; first += members) {
            groups.add("{"
                    + IntStream.range(first, first + members)
                            .mapToObj(String::valueOf)
                            .collect(Collectors.joining(",")) + "}");
        }
        return String.join(",", groups);
    }

    /** Peaks, bandwidths and latencies as the measured times say. */
    private Figures figures(Workers processes, int cores, double share, Measured measured) {
        double dot = measured.nanos("dot", 2.0 * 512 * 512 * 512);
        double pass = measured.nanos("pass", 16 << 20);
        double latency = 20_000;
        double bandwidth = 2e9;
        if (workers > 1) {
            ArrayShape large = ArrayShape.of(DType.F32, 1 << 18);
            latency = messageNanos(processes, ArrayShape.of(DType.F32, 64));
            double flow = messageNanos(processes, large) - latency - measured.nanos("pass", 2.0 * large.sizeBytes());
            // Of all pairs together, since they share the machine.
            bandwidth = large.sizeBytes() * 1e9 * Math.max(1, workers / 2) / Math.max(0.1 * latency, flow);
        }
        return new Figures(
                cores,
                Map.of("f32", 2.0 * 512 * 512 * 512 * 1e9 / dot / share),
                (long) (physicalMemoryBytes() * 0.75),
                (16 << 20) * 1e9 / Math.max(1, pass) / share,
                Math.round(measured.nanos("kernel", 1)),
                bandwidth,
                Math.round(latency),
                measured);
    }

    private static long physicalMemoryBytes() {
        return java.lang.management.ManagementFactory.getOperatingSystemMXBean()
                        instanceof com.sun.management.OperatingSystemMXBean system
                ? system.getTotalMemorySize()
                : Runtime.getRuntime().maxMemory();
    }

    /**
     * Time of one unit of computing when all workers compute: the processor time that it takes meanwhile, times the workers that share a
     * processor. Other work on the machine counts little in it.
     */
    private double unitNanos(Workers processes, ArrayShape shape, List<String> unit, int count) {
        int repeats = settle(processes, shape, unit, count);
        double sharing = Math.max(1, (double) workers / Runtime.getRuntime().availableProcessors());
        double nanos = medianNanos(processes, shape, unit, count, repeats, COMPUTE_STEPS, StepReport::processorNanos);
        return nanos * sharing / count / repeats;
    }

    /** Time of one unit with a collective, on the clock. */
    private double exchangeNanos(Workers processes, ArrayShape shape, List<String> unit, int count) {
        return medianNanos(processes, shape, unit, count, 1, EXCHANGE_STEPS, StepReport::elapsedNanos) / count;
    }

    /** How often to repeat a program in a step for that to take long beside what a step takes by itself; runs it until it is warm. */
    private int settle(Workers processes, ArrayShape shape, List<String> unit, int count) {
        int repeats = 1;
        long start = System.nanoTime();
        while (true) {
            double nanos = medianNanos(processes, shape, unit, count, repeats, 2, StepReport::elapsedNanos);
            if ((nanos > COMPUTE_STEP_NANOS || repeats == MOST_REPEATS) && System.nanoTime() - start > SETTLE_NANOS) {
                return repeats;
            }
            double wanted = Math.ceil(repeats * Math.min(16, 1.2 * COMPUTE_STEP_NANOS / nanos));
            repeats = (int) Math.min(MOST_REPEATS, Math.max(repeats, wanted));
        }
    }

    /** Of a program that repeats a unit: of each step the slowest worker; the step in the middle, as training reports it. */
    private double medianNanos(
            Workers processes,
            ArrayShape shape,
            List<String> unit,
            int count,
            int repeats,
            int steps,
            ToLongFunction<StepReport> time) {
        return medianNanos(processes, shape, plan(shape, unit, count, repeats), steps, time);
    }

    private static double medianNanos(
            Workers processes, ArrayShape shape, ExecutionPlan plan, int steps, ToLongFunction<StepReport> time) {
        Execution execution = processes.load(plan, new ModelInputs(InitialState.NONE, Map.of(), new TreeMap<>(), ""));
        double[] values = new double[Math.toIntExact(shape.elements())];
        // So that products stay as they are: numbers near 0 are slow.
        Arrays.fill(values, 1.0 / shape.dim(shape.rank() - 1));
        execution.setState(0, Literal.ofDoubles(shape, values));
        List<Double> nanos = new ArrayList<>();
        execution.run(
                0,
                steps,
                reports -> nanos.add(
                        (double) reports.stream().mapToLong(time).max().orElse(0)));
        nanos.sort(Double::compare);
        return nanos.get((nanos.size() - 1) / 2);
    }

    /** Each line of a unit reads {@code IN}, what the line before has made; {@code ROW} before an op says that it gives a row of the matrix. */
    private ExecutionPlan plan(ArrayShape shape, List<String> unit, int count, int repeats) {
        StringBuilder text = new StringBuilder("HloModule calibration\n\nsum {\n  a = f32[] parameter(0)\n"
                + "  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\nENTRY main {\n  x = " + shape
                + " parameter(0)\n  zero = f32[] constant(0)\n");
        String last = "x";
        for (int i = 0; i < count * unit.size(); i++) {
            String line = unit.get(i % unit.size()).replace("IN", last);
            ArrayShape made = line.startsWith("ROW ") ? shape.withDims(new long[] {shape.dim(0)}) : shape;
            text.append("  v")
                    .append(i)
                    .append(" = ")
                    .append(made)
                    .append(' ')
                    .append(line.replaceFirst("ROW ", ""))
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
        List<Task> tasks = new ArrayList<>(Collections.nCopies(repeats, new Task.Run(0, -1)));
        tasks.add(new Task.Free(Y, -1));
        for (int rank : ranks) {
            all.add(new WorkerPlan(rank, 0, ranks, List.of(feed(shape)), tasks, List.of()));
        }
        return new ExecutionPlan(1, List.of(program), all);
    }

    private static Feed feed(ArrayShape shape) {
        return new Feed(X, 0, new TensorSlice(shape, List.of()), true, null);
    }

    /** Time of one message between the stages of a pipeline that wait for each other, with the least of computing, all pairs at once. */
    private double messageNanos(Workers processes, ArrayShape shape) {
        return medianNanos(processes, shape, backAndForth(shape), MESSAGE_STEPS, StepReport::elapsedNanos) / MESSAGES;
    }

    /** Workers 2i and 2i + 1 send a value back and forth; who gets it computes the next one from it. */
    private ExecutionPlan backAndForth(ArrayShape shape) {
        Computation computation = HloReader.read(
                        "calibration",
                        "HloModule calibration\n\nENTRY main {\n  x = " + shape + " parameter(0)\n  y = " + shape
                                + " negate(x)\n  ROOT out = (" + shape + ") tuple(y)\n}\n")
                .entry();
        List<Program> programs = new ArrayList<>();
        for (int i = 0; i < MESSAGES; i++) {
            ValueRef from = i == 0 ? X : new ValueRef("v" + (i - 1), false);
            programs.add(new Program(
                    "message" + i,
                    i % 2,
                    Phase.POST,
                    computation,
                    List.of(from),
                    List.of(new ValueRef("v" + i, false))));
        }
        List<WorkerPlan> all = new ArrayList<>();
        for (int rank = 0; rank < workers; rank++) {
            int peer = rank ^ 1;
            List<Task> tasks = new ArrayList<>();
            for (int i = 0; i < MESSAGES && peer < workers; i++) {
                ValueRef value = new ValueRef("v" + i, false);
                if (i % 2 == rank % 2) {
                    tasks.add(new Task.Run(i, -1));
                    tasks.add(new Task.Send(value, shape, -1, peer));
                } else {
                    tasks.add(new Task.Receive(value, shape, -1, peer));
                }
            }
            for (int i = 0; i < MESSAGES && peer < workers; i++) {
                tasks.add(new Task.Free(new ValueRef("v" + i, false), -1));
            }
            all.add(new WorkerPlan(rank, rank % 2, List.of(rank), List.of(feed(shape)), tasks, List.of()));
        }
        return new ExecutionPlan(1, programs, all);
    }
}

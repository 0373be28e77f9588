package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.InitialState;
import dev.drover.runtime.worker.StepReport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Measures this machine with what will really run on it: as many worker processes as the cluster has devices run small programs at the
 * same time, through the same tasks, kernels and communicators as a training step. Each program repeats one unit of work on a matrix:
 *
 * <pre>
 *   dot of n x n, n = 8 .. 512                 -> time of a call, of products by flops
 *   a convolution and its gradients            -> convolutions by flops
 *   a chain of two ops, a logistic function    -> passes over memory, transcendental functions
 *   dot and all-reduce, among all and by pairs -> collectives by bytes, between computations as they are in a step
 *   a value sent back and forth                -> latency and bandwidth between stages
 * </pre>
 *
 * <p>The figures are then fitted to whole steps of a small model ({@link ReferenceSteps}).
 */
final class RuntimeCalibration implements Calibration {
    private static final int COMPUTE_STEPS = 7;
    private static final double COMPUTE_STEP_NANOS = 20e6;
    private static final int EXCHANGE_STEPS = 41;
    /** Above it the machine has other work to do. */
    private static final double MOST_DELAY = 1.3;
    /** Share of the processors in use below which the machine is free. */
    private static final double FREE_LOAD = 0.4;

    /** After so long no more steps are begun. */
    private static final long ENOUGH_NANOS = 400_000_000L;

    private static final int STEPS_AT_ONCE = 7;
    private static final int TURNS = 8;
    private static final int MESSAGE_STEPS = 31;
    private static final int MOST_REPEATS = 2000;
    /** Of repeats at once: the first run of a program takes longer than the later ones. */
    private static final int MOST_GROWTH = 64;

    /** Before it is measured, each unit is run for so long. */
    private static final long SETTLE_NANOS = 200_000_000L;

    private static final long WARM_UP_NANOS = 2_000_000_000L;
    /** Four kernels of several kinds, as a step mixes them. */
    private static final List<String> SMALL_KERNELS = List.of(
            "logistic(IN)",
            "reverse(IN), dimensions={0}",
            "ROW reduce(IN, zero), dimensions={1}, to_apply=sum",
            "broadcast(IN), dimensions={0}",
            "add(IN, x)");

    private static final String DOT = "dot(IN, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    private static final String DOT_FIRST_TRANSPOSED = "dot(IN, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
    private static final String DOT_SECOND_TRANSPOSED =
            "dot(IN, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}";

    private static final List<String> NEGATE = List.of("negate(IN)");

    /** A kernel each, no two the same. */
    private static final List<String> DIFFERENT_KERNELS = List.of(
            DOT,
            "logistic(IN)",
            "reverse(IN), dimensions={0}",
            "tanh(IN)",
            DOT_FIRST_TRANSPOSED,
            "exponential(IN)",
            "reverse(IN), dimensions={1}",
            "ROW reduce(IN, zero), dimensions={1}, to_apply=sum",
            "broadcast(IN), dimensions={0}",
            DOT_SECOND_TRANSPOSED,
            "cosine(IN)",
            "reverse(IN), dimensions={0,1}",
            "add(IN, x)");

    /** One kernel: a chain. */
    private static final List<String> TWO_OPS = List.of("add(IN, x)", "multiply(IN, x)");

    /** As a layer's forward and backward pass have them. */
    private static final List<String> DOTS = List.of(DOT, DOT_SECOND_TRANSPOSED, DOT_FIRST_TRANSPOSED);

    private static final int IMAGES = 4;
    private static final int PIXELS = 16;

    private static final String ALL_REDUCE = "all-reduce(IN), channel_id=1, replica_groups={GROUPS}, to_apply=sum";
    /** Elementwise work is measured on so many rows of 256. */
    private static final int ROWS = 512;

    private final int workers;
    private final Path folder;
    private final CalibrationPlans plans;
    /** Of computing: its time over what it takes of the processors, in each measurement. */
    private final List<Double> delays = new ArrayList<>();

    /**
     * @param workers that will share the machine
     * @param folder for the workers' logs
     */
    RuntimeCalibration(int workers, Path folder) {
        this.workers = workers;
        this.folder = folder;
        this.plans = new CalibrationPlans(workers);
    }

    @Override
    public boolean isComplete(Figures kept) {
        return isComplete(kept, ThisMachine::processorLoad);
    }

    /** Figures that were measured beside other work serve while there is other work. */
    boolean isComplete(Figures kept, DoubleSupplier loadNow) {
        Measured measured = kept.measured();
        boolean all = measured.knows(Measured.PROCESSOR)
                && measured.knows(Measured.DELAY)
                && measured.knows("convolution")
                && (workers == 1 || (measured.knows("send") && measured.knows("first-call")))
                && groupSizes().allMatch(members -> measured.knows(Measured.ALL_REDUCE + members));
        if (!all || measured.delay() <= MOST_DELAY) {
            return all;
        }
        if (loadNow.getAsDouble() < FREE_LOAD) {
            return false;
        }
        Output.progress("this machine was measured beside other work, and still has some, so predicted steps may be too"
                + " long; it is measured again by the first command that finds it free");
        return true;
    }

    /** Of collectives: all workers, and those of the meshes of a pipeline. */
    private IntStream groupSizes() {
        return IntStream.rangeClosed(2, workers).filter(members -> workers % members == 0);
    }

    @Override
    public Figures measure() {
        Output.progress("measuring this machine with " + workers + " workers (about half a minute, once; kept in "
                + folder + ")");
        int cores = Runtime.getRuntime().availableProcessors();
        double share = Math.min(1.0, (double) cores / workers);
        try (Workers processes = Workers.start(workers, 0, 0, folder)) {
            warmUp(processes);
            SortedMap<String, SortedMap<Long, Double>> nanos = new TreeMap<>();
            for (int n : new int[] {8, 64, 128, 512}) {
                int count = Math.min(32, Math.max(1, (1 << 24) / (n * n * n)));
                double dot = unitNanos(processes, square(n), DOTS, count) / DOTS.size();
                put(nanos, "dot", 2L * n * n * n, dot);
            }
            for (int channels : new int[] {8, 64}) {
                ArrayShape images = ArrayShape.of(DType.F32, IMAGES, channels, PIXELS, PIXELS);
                double unit = unitNanos(processes, images, convolutions(channels), 1);
                put(nanos, "convolution", convolutionFlops(channels), unit / 3);
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
                messages(processes, nanos);
                groupSizes().forEach(members -> collectives(processes, members, nanos));
            }
            Measured measured = new Measured(workers > cores ? cores : 0, nanos).withDelay(delay());
            Figures parts = figures(processes, cores, share, measured);
            tellOtherWork(measured.delay());
            Output.progress("measuring whole steps");
            return ReferenceSteps.fit(processes, workers, parts);
        }
    }

    /** Computing alone takes longer than its processor time only if others want the processors too. */
    private double delay() {
        List<Double> sorted = delays.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
    }

    private static void tellOtherWork(double delay) {
        if (delay > MOST_DELAY) {
            Output.progress(String.format(
                    Locale.ROOT,
                    "other work takes some %.0f %% of the processors now, so predicted steps may be too long;"
                            + " the first command that finds the machine free measures it again",
                    100 * (1 - 1 / delay)));
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
        Execution execution = load(processes, square(128), plans.repeated(square(128), unit, 4, 20));
        long start = System.nanoTime();
        while (System.nanoTime() - start < WARM_UP_NANOS) {
            double unused = medianNanos(execution, 1, StepReport::elapsedNanos);
        }
    }

    /** Of windows of 3 x 3: forward, the gradient by the kernel, the gradient by the images. The result is as the images again. */
    private static List<String> convolutions(int channels) {
        String kernel = "AS f32[" + channels + "," + channels + ",3,3] ";
        String window = ", window={size=3x3 pad=1_1x1_1}, dim_labels=";
        return List.of(
                kernel + "broadcast(zero), dimensions={}",
                "convolution(x, IN)" + window + "bf01_oi01->bf01",
                kernel + "convolution(x, IN), window={size=" + PIXELS + "x" + PIXELS
                        + " pad=1_1x1_1}, dim_labels=fb01_io01->fb01",
                "convolution(x, IN)" + window + "bf01_io01->bf01");
    }

    /** Of one of {@link #convolutions}; what falls on the padding does not count. */
    private static long convolutionFlops(int channels) {
        long across = 3 * PIXELS - 2;
        return 2L * IMAGES * channels * channels * across * across;
    }

    /**
     * What messages cost the computing, and kernels that come between them: turns of two stages that wait for each other, less what the
     * same kernels take when they are repeated.
     */
    private void messages(Workers processes, SortedMap<String, SortedMap<Long, Double>> nanos) {
        double sharing = sharing();
        double kernel = new Measured(0, nanos).nanos("kernel", 1);
        for (int elements : new int[] {64, 1 << 14, 1 << 18}) {
            ArrayShape shape = ArrayShape.of(DType.F32, elements);
            double one = turnNanos(processes, shape, NEGATE, 1, StepReport::processorNanos);
            double several = turnNanos(processes, shape, NEGATE, 5, StepReport::processorNanos);
            double pass = new Measured(0, nanos).nanos("pass", 1 << 20) * 2 * shape.sizeBytes() / (1 << 20);
            put(nanos, "send", shape.sizeBytes(), Math.max(1, sharing * (several - one) / 4 - kernel - pass));
        }
        ArrayShape small = square(32);
        double repeated = unitNanos(processes, small, DIFFERENT_KERNELS, 1);
        double turn = turnNanos(processes, small, DIFFERENT_KERNELS, 1, StepReport::processorNanos);
        double least = turnNanos(processes, small, NEGATE, 1, StepReport::processorNanos);
        double first = sharing * (turn - least) + kernel - repeated;
        put(nanos, "first-call", 1, Math.max(1, first / DIFFERENT_KERNELS.size()));
    }

    private void collectives(Workers processes, int members, SortedMap<String, SortedMap<Long, Double>> nanos) {
        Measured dots = new Measured(0, nanos);
        for (int n : new int[] {8, 128, 512}) {
            double unit =
                    exchangeNanos(processes, square(n), List.of(DOT, ALL_REDUCE.replace("GROUPS", groups(members))), 4);
            double product = dots.nanos("dot", 2.0 * n * n * n);
            put(nanos, Measured.ALL_REDUCE + members, 4L * n * n, Math.max(0.2 * unit, unit - product));
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
            ArrayShape least = ArrayShape.of(DType.F32, 64);
            latency = turnNanos(processes, least, NEGATE, 1, StepReport::elapsedNanos) / 2;
            double flow = turnNanos(processes, large, NEGATE, 1, StepReport::elapsedNanos) / 2
                    - latency
                    - measured.nanos("pass", 2.0 * large.sizeBytes());
            // Of all pairs together, since they share the machine.
            bandwidth = large.sizeBytes() * 1e9 * Math.max(1, workers / 2) / Math.max(0.1 * latency, flow);
        }
        return new Figures(
                cores,
                Map.of("f32", 2.0 * 512 * 512 * 512 * 1e9 / dot / share),
                (long) (ThisMachine.memoryBytes() * 0.75),
                (16 << 20) * 1e9 / Math.max(1, pass) / share,
                Math.round(measured.nanos("kernel", 1)),
                bandwidth,
                Math.round(latency),
                measured);
    }

    /**
     * Time of one unit of computing when all workers compute: the processor time that it takes meanwhile, times the workers that share a
     * processor. Other work on the machine counts little in it. The unit is repeated so often that a step takes long beside what it takes by
     * itself, and measured once it is warm.
     */
    private double unitNanos(Workers processes, ArrayShape shape, List<String> unit, int count) {
        int repeats = 1;
        while (true) {
            Execution execution = load(processes, shape, plans.repeated(shape, unit, count, repeats));
            long start = System.nanoTime();
            double nanos = medianNanos(execution, 2, StepReport::elapsedNanos);
            if (nanos < COMPUTE_STEP_NANOS && repeats < MOST_REPEATS) {
                double wanted = Math.ceil(repeats * Math.min(MOST_GROWTH, 1.5 * COMPUTE_STEP_NANOS / nanos));
                repeats = (int) Math.min(MOST_REPEATS, wanted);
                continue;
            }
            while (System.nanoTime() - start < SETTLE_NANOS) {
                double unused = medianNanos(execution, 1, StepReport::elapsedNanos);
            }
            List<List<StepReport>> steps = run(execution, COMPUTE_STEPS);
            double median = medianNanos(steps, StepReport::processorNanos) * sharing();
            delays.add(medianNanos(steps, StepReport::elapsedNanos) / median);
            return median / count / repeats;
        }
    }

    /** Workers that share a processor. */
    private double sharing() {
        return Math.max(1, (double) workers / Runtime.getRuntime().availableProcessors());
    }

    /** Time of one unit with a collective, on the clock. */
    private double exchangeNanos(Workers processes, ArrayShape shape, List<String> unit, int count) {
        Execution execution = load(processes, shape, plans.repeated(shape, unit, count, 1));
        return medianNanos(execution, EXCHANGE_STEPS, StepReport::elapsedNanos) / count;
    }

    private static Execution load(Workers processes, ArrayShape shape, ExecutionPlan plan) {
        Execution execution = processes.load(plan, new ModelInputs(InitialState.NONE, Map.of(), new TreeMap<>(), ""));
        double[] values = new double[Math.toIntExact(shape.elements())];
        // So that products stay as they are: numbers near 0 are slow.
        Arrays.fill(values, 1.0 / shape.dim(shape.rank() - 1));
        execution.setState(0, Literal.ofDoubles(shape, values));
        return execution;
    }

    private static double medianNanos(Execution execution, int steps, ToLongFunction<StepReport> time) {
        return medianNanos(run(execution, steps), time);
    }

    /** The workers' reports of some steps; of fewer if they are long. */
    private static List<List<StepReport>> run(Execution execution, int steps) {
        List<List<StepReport>> all = new ArrayList<>();
        long start = System.nanoTime();
        while (all.size() < steps && System.nanoTime() - start < ENOUGH_NANOS) {
            execution.run(0, Math.min(STEPS_AT_ONCE, steps - all.size()), all::add);
        }
        return all;
    }

    /** Of each step the slowest worker; the step in the middle, as training reports it. */
    private static double medianNanos(List<List<StepReport>> steps, ToLongFunction<StepReport> time) {
        List<Long> nanos = steps.stream()
                .map(reports -> reports.stream().mapToLong(time).max().orElse(0))
                .sorted()
                .toList();
        return nanos.get((nanos.size() - 1) / 2);
    }

    /**
     * A turn of two stages that wait for each other, all pairs at once: each computes a unit once, sends so many results and receives the
     * other's.
     */
    private double turnNanos(
            Workers processes, ArrayShape shape, List<String> unit, int messages, ToLongFunction<StepReport> time) {
        Execution execution = load(processes, shape, plans.backAndForth(shape, unit, TURNS, messages));
        return medianNanos(execution, MESSAGE_STEPS, time) / TURNS;
    }
}

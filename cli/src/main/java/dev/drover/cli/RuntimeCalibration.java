package dev.drover.cli;

import dev.drover.cli.ExchangeTimes.Turn;
import dev.drover.cli.UnitTimes.Unit;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Measured;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.DoubleSupplier;
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
 * <p>The figures are then fitted to whole steps of a small model ({@link ReferenceSteps}). The same workers serve for all of it, and start
 * while the plans of these steps are searched.
 */
final class RuntimeCalibration implements Calibration {
    private static final double MOST_DELAY = ReferenceSteps.MOST_DELAY;
    /** Share of the processors in use below which the machine is free. */
    private static final double FREE_LOAD = 0.4;

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

    /** Elementwise work is measured on so many rows of 256. */
    private static final ArrayShape MATRIX = ArrayShape.of(DType.F32, 512, 256);

    private static final ArrayShape LARGE = ArrayShape.of(DType.F32, 4096, 512);
    /** The smallest message and the largest. */
    private static final List<Integer> MESSAGE_ELEMENTS = List.of(64, 1 << 14, 1 << 18);

    private final int workers;
    private final Path folder;
    private final CalibrationPlans plans;

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
                && measured.knows(Measured.CONVOLUTION)
                && (workers == 1 || (measured.knows("send") && measured.knows("first-call")))
                && groupSizes().allMatch(members -> measured.knows(Measured.ALL_REDUCE_WORK + members));
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
        Output.progress(
                "measuring this machine with " + workers + " workers (20 to 30 seconds, once; kept in " + folder + ")");
        boolean freeBefore = ThisMachine.processorLoad() < FREE_LOAD;
        Figures figures = measureNow();
        if (freeBefore && ThisMachine.processorLoad() < FREE_LOAD) {
            // What computing waited for then is the machine's own: its host's other work, say.
            double delay = Math.min(figures.measured().delay(), MOST_DELAY);
            return figures.with(
                    figures.loopbackLatencyNanos(), figures.measured().withDelay(delay));
        }
        tellOtherWork(figures.measured().delay());
        return figures;
    }

    private Figures measureNow() {
        CompletableFuture<ReferenceSteps> planning =
                CompletableFuture.supplyAsync(() -> ReferenceSteps.planned(workers));
        CompletableFuture<Figures> fitted;
        try (Workers processes = Workers.start(workers, 0, 0, folder)) {
            // Makes the connections, and loads what is needed always.
            new ExchangeTimes(processes, plans).begin();
            ReferenceSteps steps = planning.join();
            // First of all, while what the workers run is compiled as little as in the first seconds of a training.
            steps.run(processes);
            int cores = Runtime.getRuntime().availableProcessors();
            UnitTimes units = new UnitTimes(processes, plans, Math.max(1, (double) workers / cores));
            units.measure(units());
            SortedMap<String, SortedMap<Long, Double>> nanos = computing(units);
            double latency = 20_000;
            double bandwidth = 2e9;
            if (workers > 1) {
                ExchangeTimes exchanges = new ExchangeTimes(processes, plans);
                List<Turn> turns = messages(exchanges, units, nanos);
                latency = turns.get(0).elapsedNanos() / 2;
                long largest = 4L * MESSAGE_ELEMENTS.get(turns.size() - 1);
                double flow = turns.get(turns.size() - 1).elapsedNanos() / 2
                        - latency
                        - new Measured(0, nanos).nanos("pass", 2.0 * largest);
                // Of all pairs together, since they share the machine.
                bandwidth = largest * 1e9 * Math.max(1, workers / 2) / Math.max(0.1 * latency, flow);
                groupSizes().forEach(members -> collectives(exchanges, units.sharing(), members, nanos));
            }
            // Once more, some seconds later.
            units.measure(units());
            nanos.putAll(computing(units));
            Measured measured = new Measured(workers > cores ? cores : 0, nanos).withDelay(units.delay());
            Figures parts = figures(cores, measured, bandwidth, latency);
            // While the workers leave.
            fitted = CompletableFuture.supplyAsync(() -> steps.fit(parts));
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException problem ? problem : e;
        }
        return fitted.join();
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

    /** What is measured of computing. Units that are alike stand together, since those beside each other run at once. */
    private static List<Unit> units() {
        return List.of(
                new Unit("dot 512", square(512), DOTS, 1, 5e6),
                new Unit("dot 128", square(128), DOTS, 8, 100e3),
                convolution(64, 3e6),
                convolution(24, 1e6),
                new Unit("large pass", LARGE, TWO_OPS, 1, 3e6),
                new Unit("pass", MATRIX, TWO_OPS, 1, 80e3),
                new Unit("chain", MATRIX, TWO_OPS, 9, 60e3),
                new Unit("division", MATRIX, List.of("divide(x, IN)"), 16, 80e3),
                new Unit("logistic", MATRIX, List.of("logistic(IN)"), 3, 150e3),
                new Unit("dot 64", square(64), DOTS, 32, 20e3),
                convolution(8, 400e3),
                new Unit("dot 8", square(8), DOTS, 32, 3e3),
                new Unit("kernel", square(16), SMALL_KERNELS, 8, 10e3),
                new Unit("different", square(32), DIFFERENT_KERNELS, 1, 50e3));
    }

    /** Times of all kinds of computing, by size. */
    private static SortedMap<String, SortedMap<Long, Double>> computing(UnitTimes units) {
        SortedMap<String, SortedMap<Long, Double>> nanos = new TreeMap<>();
        for (int n : new int[] {8, 64, 128, 512}) {
            put(nanos, Measured.DOT, 2L * n * n * n, units.nanos("dot " + n) / DOTS.size());
        }
        for (int channels : new int[] {8, 24, 64}) {
            put(nanos, Measured.CONVOLUTION, convolutionFlops(channels), units.nanos("convolution " + channels) / 3);
        }
        put(nanos, "kernel", 1, units.nanos("kernel") / 4);
        double pass = units.nanos("pass");
        double step = Math.max(0.01 * pass, (9 * units.nanos("chain") - pass) / 16);
        put(nanos, "chain", MATRIX.elements(), step);
        double divisions = 16 * units.nanos("division");
        put(nanos, "division", MATRIX.elements(), Math.max(step, (divisions - pass + 2 * step) / 16));
        put(nanos, "pass", 2 * MATRIX.sizeBytes(), Math.max(0.1 * pass, pass - 2 * step));
        double largePass = units.nanos("large pass");
        double largeSteps = 2 * step * LARGE.elements() / MATRIX.elements();
        put(nanos, "pass", 2 * LARGE.sizeBytes(), Math.max(0.1 * largePass, largePass - largeSteps));
        // The backend makes a kernel of each, which passes over memory too.
        double logistic = units.nanos("logistic");
        put(nanos, "transcendental", MATRIX.elements(), Math.max(0.1 * logistic, logistic - pass));
        return nanos;
    }

    private static Unit convolution(int channels, double guessNanos) {
        ArrayShape images = ArrayShape.of(DType.F32, IMAGES, channels, PIXELS, PIXELS);
        return new Unit("convolution " + channels, images, convolutions(channels), 1, guessNanos);
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
     *
     * @return a turn with one message of each size
     */
    private static List<Turn> messages(
            ExchangeTimes exchanges, UnitTimes units, SortedMap<String, SortedMap<Long, Double>> nanos) {
        double sharing = units.sharing();
        Measured computing = new Measured(0, nanos);
        double kernel = computing.nanos("kernel", 1);
        List<Turn> turns = new ArrayList<>();
        for (int elements : MESSAGE_ELEMENTS) {
            ArrayShape shape = ArrayShape.of(DType.F32, elements);
            Turn one = exchanges.turn(shape, NEGATE, 1);
            double several = exchanges.turn(shape, NEGATE, 5).processorNanos();
            double pass = computing.nanos("pass", 1 << 20) * 2 * shape.sizeBytes() / (1 << 20);
            double message = sharing * (several - one.processorNanos()) / 4;
            put(nanos, "send", shape.sizeBytes(), Math.max(1, message - kernel - pass));
            turns.add(one);
        }
        double turn = exchanges.turn(square(32), DIFFERENT_KERNELS, 1).processorNanos();
        double least = exchanges.turn(square(32), NEGATE, 1).processorNanos();
        double first = sharing * (turn - least) + kernel - units.nanos("different");
        put(nanos, "first-call", 1, Math.max(1, first / DIFFERENT_KERNELS.size()));
        return turns;
    }

    private static void collectives(
            ExchangeTimes exchanges, double sharing, int members, SortedMap<String, SortedMap<Long, Double>> nanos) {
        Measured computing = new Measured(0, nanos);
        for (int n : new int[] {8, 128, 512}) {
            Turn unit = exchanges.allReduce(square(n), DOT, members);
            collective(unit, computing.nanos(Measured.DOT, 2.0 * n * n * n), sharing, members, 4L * n * n, nanos);
        }
        long bytes = LARGE.sizeBytes();
        Turn unit = exchanges.allReduce(LARGE, NEGATE.get(0), members);
        collective(unit, computing.nanos("pass", 2.0 * bytes), sharing, members, bytes, nanos);
    }

    /** @param computing what the unit takes without the collective, where all compute */
    private static void collective(
            Turn unit,
            double computing,
            double sharing,
            int members,
            long bytes,
            SortedMap<String, SortedMap<Long, Double>> nanos) {
        double elapsed = unit.elapsedNanos();
        put(nanos, Measured.ALL_REDUCE + members, bytes, Math.max(0.2 * elapsed, elapsed - computing));
        put(nanos, Measured.ALL_REDUCE_WORK + members, bytes, Math.max(1, sharing * unit.processorNanos() - computing));
    }

    private static ArrayShape square(int n) {
        return ArrayShape.of(DType.F32, n, n);
    }

    private static void put(SortedMap<String, SortedMap<Long, Double>> nanos, String kind, long size, double time) {
        nanos.computeIfAbsent(kind, k -> new TreeMap<>()).put(size, (double) Math.round(time));
    }

    /** Peaks as the measured times say. */
    private Figures figures(int cores, Measured measured, double bandwidth, double latency) {
        double share = Math.min(1.0, (double) cores / workers);
        double dot = measured.nanos(Measured.DOT, 2.0 * 512 * 512 * 512);
        double pass = measured.nanos("pass", 16 << 20);
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
}

package dev.drover.cli;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.solver.ContestFile;
import dev.drover.solver.Improvement;
import dev.drover.solver.Solution;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import dev.drover.solver.StrategySolver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover solve}. */
@Command(
        name = "solve",
        description =
                "Solves a strategy problem in the format of the IOPDDL contest: best choice found and lower bound.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover solve problem.json.gz --timeout 60"})
final class SolveCommand implements Callable<Integer> {
    /** How long the end of the process waits for the answer. */
    private static final long LAST_WORDS_SECONDS = 20;

    /** Of the script before this process and of the end of a small one. */
    private static final double SHELL_SECONDS = 0.2;

    private static final double LAST_SECONDS_PER_PART = 2e-6;

    @Parameters(paramLabel = "PROBLEM.json[.gz]", description = "The problem.")
    Path problem = Path.of("");

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "60",
            description = "Wall clock, start and reading included (default ${DEFAULT-VALUE}).")
    double timeoutSeconds;

    @Option(
            names = "--threads",
            paramLabel = "T",
            defaultValue = "2",
            description = "Working threads (default ${DEFAULT-VALUE}).")
    int threads;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Of all random choices; what one thread proves alone is the same each time for the same seed"
                    + " (default ${DEFAULT-VALUE}).")
    long seed;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    /** Solves; when the process is asked to end (Ctrl-C, SIGTERM) it first prints the best answer so far. */
    @Override
    public Integer call() {
        Thread solving = Thread.currentThread();
        CountDownLatch printed = new CountDownLatch(1);
        Thread hook = new Thread(
                () -> {
                    solving.interrupt();
                    try {
                        if (!printed.await(LAST_WORDS_SECONDS, TimeUnit.SECONDS)) {
                            Output.progress("ended without an answer.");
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "drover-solve-end");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            return solve();
        } finally {
            System.out.flush();
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                // The process is ending already: the hook runs, and waits for the latch.
                Output.progress("ended by a signal.");
            } finally {
                printed.countDown();
            }
        }
    }

    private int solve() {
        long start = System.nanoTime() - startupNanos();
        if (!Files.isRegularFile(problem)) {
            throw new UserError("The problem file (" + problem + ") must "
                    + (Files.exists(problem) ? "be a regular file, not a folder or a pipe." : "exist."));
        }
        if (!(timeoutSeconds > 0)) {
            throw new UserError("The timeout (" + timeoutSeconds + ") must be above 0 seconds.");
        }
        if (threads < 1) {
            throw new UserError("The threads (" + threads + ") must be at least 1.");
        }
        ThisMachine.checkThreads(threads, "of the search");
        StrategyProblem read;
        try {
            long left = (long) (timeoutSeconds * 1e9) - (System.nanoTime() - start);
            read = ContestFile.readWithin(problem, left);
        } catch (TimeoutException e) {
            double seconds = (System.nanoTime() - start) / 1e9;
            Solution none = new Solution(
                    Solution.Status.UNKNOWN,
                    List.of(),
                    Long.MAX_VALUE,
                    0,
                    0,
                    StrategyProblem.UNLIMITED,
                    seconds,
                    List.of(),
                    "The file could not be read in that time.",
                    false);
            return noChoice(none);
        } catch (IOException e) {
            throw new UserError(
                    "The problem file (" + problem + ") must be readable, but " + FileReason.of(e) + ".", e);
        }
        double readSeconds = (System.nanoTime() - start) / 1e9;
        Output.progress(String.format(
                Locale.ROOT,
                "%d node%s, %d edge%s, read in %.2f s",
                read.nodeCount(),
                read.nodeCount() == 1 ? "" : "s",
                read.edgeCount(),
                read.edgeCount() == 1 ? "" : "s",
                readSeconds));
        double left = timeoutSeconds - readSeconds - endSeconds(read);
        SolveOptions options = SolveOptions.ofSeconds(Math.max(0.05, left))
                .withThreads(threads)
                .withSeed(seed);
        Solution solution = StrategySolver.solve(read, options, improvement -> progress(improvement, readSeconds));
        double seconds = (System.nanoTime() - start) / 1e9;
        if (solution.memoryEnded()) {
            Output.progress(String.format(
                    Locale.ROOT,
                    "The memory (%d MiB of heap) ended after %.1f s, and with it the search.",
                    Runtime.getRuntime().maxMemory() >> 20,
                    seconds));
            Output.progress("Maybe give more with DROVER_JAVA_OPTS=-Xmx8g.");
        }
        Solution told = sinceStart(solution, seconds, readSeconds);
        if (!told.hasChoices()) {
            return noChoice(told);
        }
        print(told);
        return 0;
    }

    private int noChoice(Solution solution) {
        if (json) {
            json(solution);
        }
        if (solution.status() == Solution.Status.INFEASIBLE) {
            throw new UserError("The problem (" + problem + ") must have a choice: " + solution.explanation());
        }
        Output.progress(String.format(
                Locale.ROOT,
                "problem (%s) is undecided after %.1f s: %s",
                problem,
                solution.seconds(),
                solution.explanation()));
        Output.progress("Maybe give more time with --timeout.");
        return Main.WORKER_FAILED;
    }

    /** What comes outside of this process' own time: the shell before, writing, and the end of a large heap. */
    private static double endSeconds(StrategyProblem problem) {
        return SHELL_SECONDS + LAST_SECONDS_PER_PART * (problem.nodeCount() + problem.edgeCount());
    }

    /** What the start of this process took, which counts as well; nothing in a process that has done other things before. */
    private static long startupNanos() {
        long millis = ManagementFactory.getRuntimeMXBean().getUptime();
        return millis < 5000 ? millis * 1_000_000 : 0;
    }

    private static void progress(Improvement improvement, double readSeconds) {
        Output.progress(String.format(
                Locale.ROOT,
                "%8.2f s  cost %s  bound %,d  (%s)",
                readSeconds + improvement.seconds(),
                improvement.objective() == Long.MAX_VALUE
                        ? "-"
                        : String.format(Locale.ROOT, "%,d", improvement.objective()),
                improvement.lowerBound(),
                improvement.phase()));
    }

    /** The answer with the times of the whole command. */
    private static Solution sinceStart(Solution solution, double seconds, double readSeconds) {
        List<Improvement> improvements = solution.improvements().stream()
                .map(step -> new Improvement(
                        readSeconds + step.seconds(), step.objective(), step.lowerBound(), step.phase()))
                .toList();
        return new Solution(
                solution.status(),
                solution.choices(),
                solution.objective(),
                solution.lowerBound(),
                solution.peakUsage(),
                solution.usageLimit(),
                seconds,
                improvements,
                solution.explanation(),
                solution.memoryEnded());
    }

    private static void json(Solution solution) {
        try {
            ContestFile.writeSolution(solution, System.out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        System.out.println();
    }

    private static boolean limited(Solution solution) {
        return solution.usageLimit() != StrategyProblem.UNLIMITED;
    }

    private void print(Solution solution) {
        if (json) {
            json(solution);
            return;
        }
        boolean optimal = solution.status() == Solution.Status.OPTIMAL;
        System.out.printf(
                Locale.ROOT, "cost         %,d%s%n", solution.objective(), optimal ? " (proven optimal)" : "");
        System.out.printf(Locale.ROOT, "lower bound  %,d (gap %.4f %%)%n", solution.lowerBound(), 100 * solution.gap());
        System.out.printf(
                Locale.ROOT,
                "peak usage   %,d%s%n",
                solution.peakUsage(),
                limited(solution) ? String.format(Locale.ROOT, " of %,d", solution.usageLimit()) : ", no limit");
        System.out.printf(Locale.ROOT, "time         %.2f s%n", solution.seconds());
        System.out.println("Choices are printed with --json.");
    }
}

package dev.drover.runtime.launch;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Workers as child JVMs on this machine, with this JVM's class path, logging to {@code rank-N.log} in the run folder.
 *
 * <p>Three nets against orphans: {@link #close}; a shutdown hook for when the user presses Ctrl-C; and each child's standard input, a
 * pipe that ends when this process dies by whatever means, at which the child halts itself (see {@link ParentWatch}).
 */
public final class LocalLauncher implements Launcher {

    /** Where coordinator and workers listen. */
    public static final String LOOPBACK = "127.0.0.1";

    private static final long KILL_DEADLINE_SECONDS = 10;

    private final Path runFolder;
    private final List<String> jvmOptions;
    private final Map<String, String> threadEnvironment;
    private final List<LocalProcess> processes = new ArrayList<>();
    private final Thread hook;
    private boolean closed;

    /**
     * @param runFolder for logs; made when missing
     * @param threadsPerWorker threads for one kernel
     * @param jvmOptions for the children, such as {@code -Xmx2g}
     */
    public LocalLauncher(Path runFolder, int threadsPerWorker, List<String> jvmOptions) {
        this.runFolder = runFolder.toAbsolutePath();
        this.jvmOptions = List.copyOf(jvmOptions);
        this.threadEnvironment = threadEnvironment(threadsPerWorker);
        this.hook = new Thread(this::killAll, "drover-kill-workers");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /**
     * Environment variables for a process whose kernels use so many threads. OpenBLAS has a thread pool of its own that libtorch's
     * setting does not reach. OpenMP's threads wait awake for a short time only (some 0.1 ms): most kernels are done by a program's
     * own threads, which need the processors then. What kernels allocate inside one call stays with the process: given back and taken
     * anew, as the C library does with large pieces and with those of other threads than the first, each page costs a fault at each call.
     */
    public static Map<String, String> threadEnvironment(int threads) {
        Map<String, String> environment = new TreeMap<>();
        environment.put("OMP_NUM_THREADS", Integer.toString(threads));
        environment.put("OPENBLAS_NUM_THREADS", Integer.toString(threads));
        environment.put("OMP_WAIT_POLICY", threads > 1 ? "ACTIVE" : "PASSIVE");
        if (threads > 1) {
            environment.put("GOMP_SPINCOUNT", "1000");
        }
        environment.put("MALLOC_ARENA_MAX", "1");
        environment.put("MALLOC_MMAP_THRESHOLD_", Integer.toString(32 << 20));
        environment.put("MALLOC_TRIM_THRESHOLD_", Integer.toString(256 << 20));
        return environment;
    }

    @Override
    public String coordinatorHost() {
        return LOOPBACK;
    }

    @Override
    public synchronized WorkerProcess launch(WorkerCommand command) {
        if (closed) {
            throw new IllegalStateException("The launcher must be open.");
        }
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        line.addAll(jvmOptions);
        line.add("-cp");
        line.add(absoluteClassPath());
        line.add(command.mainClass());
        line.addAll(command.arguments());
        Path log = runFolder.resolve("rank-" + command.rank() + ".log");
        try {
            Files.createDirectories(runFolder);
        } catch (IOException e) {
            throw new UserError(
                    "The folder (" + runFolder + ") of the workers' logs must be writable, but " + FileReason.of(e)
                            + ".",
                    e);
        }
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(log.toFile());
            builder.environment().putAll(threadEnvironment);
            builder.environment().putAll(command.environment());
            LocalProcess process = new LocalProcess(command.rank(), builder.start(), log);
            processes.add(process);
            return process;
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "Could not start the worker (rank " + command.rank() + "): " + e.getMessage(), e);
        }
    }

    private static String absoluteClassPath() {
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            entries.add(Path.of(entry).toAbsolutePath().toString());
        }
        return String.join(File.pathSeparator, entries);
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        killAll();
        processes.forEach(LocalProcess::close);
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shuttingDown) {
            // The hook runs already, or has run.
        }
    }

    private void killAll() {
        for (LocalProcess process : List.copyOf(processes)) {
            process.process.destroyForcibly();
        }
    }

    private static final class LocalProcess implements WorkerProcess {
        private final int rank;
        private final Process process;
        private final Path log;
        private final CompletableFuture<Integer> exit;

        LocalProcess(int rank, Process process, Path log) {
            this.rank = rank;
            this.process = process;
            this.log = log;
            this.exit = process.onExit().thenApply(Process::exitValue);
        }

        @Override
        public int rank() {
            return rank;
        }

        @Override
        public CompletableFuture<Integer> exit() {
            return exit;
        }

        @Override
        public String logName() {
            return log.toString();
        }

        @Override
        public List<String> lastLogLines(int count) {
            return LogTail.read(log, count);
        }

        @Override
        public void close() {
            process.destroyForcibly();
            try {
                exit.get(KILL_DEADLINE_SECONDS, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException | TimeoutException e) {
                throw new IllegalStateException(
                        "The worker (rank " + rank + ", pid " + process.pid() + ") could not be killed.", e);
            }
        }
    }
}

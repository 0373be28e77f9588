package dev.drover.cli;

import dev.drover.backend.torch.worker.TorchWorkerMain;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.launch.LocalLauncher;
import dev.drover.runtime.wire.TensorBytes;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Worker processes on this machine, and what is loaded on them. */
final class Workers implements AutoCloseable {
    /** Names a file of classes that were read ahead (class data sharing), for faster starts; set by the script {@code drover}. */
    private static final String ARCHIVE = "drover.archive";

    private static final Duration PEER_TIMEOUT = Duration.ofMinutes(30);

    private final Cluster cluster;
    private final Path logs;

    private Workers(Cluster cluster, Path logs) {
        this.cluster = cluster;
        this.logs = logs;
    }

    /**
     * Starts workers.
     *
     * @param port of the coordinator, 0 for any
     * @param threads of each worker; 0 for the cores of this machine divided among them
     */
    static Workers start(int count, int port, int threads, Path runFolder) {
        Path logs = logs(runFolder);
        Output.progress("starting " + count + " worker process" + (count == 1 ? "" : "es") + ", logs in " + logs);
        int each = threads > 0 ? threads : fairThreads(count);
        List<String> jvmOptions = new ArrayList<>(TorchWorkerMain.JVM_OPTIONS);
        String archive = System.getProperty(ARCHIVE);
        if (archive != null) {
            // One that does not fit this Java or class path is passed over.
            jvmOptions.addAll(List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off"));
        }
        LocalLauncher launcher = new LocalLauncher(logs, each, jvmOptions);
        ClusterOptions options =
                ClusterOptions.of(TorchWorkerMain.class.getName()).withPort(port);
        return new Workers(Cluster.start(options, launcher, count), logs);
    }

    /** The cores of this machine divided among workers. */
    static int fairThreads(int workers) {
        return Math.max(1, Runtime.getRuntime().availableProcessors() / workers);
    }

    /** Where workers log to. */
    static Path logs(Path runFolder) {
        return runFolder.resolve("logs");
    }

    Path logs() {
        return logs;
    }

    /** Loads a plan with its initial state; replaces what was loaded. */
    Execution load(ExecutionPlan plan, ModelInputs inputs) {
        Execution execution = Execution.load(cluster, plan, inputs.initial(), PEER_TIMEOUT);
        for (var entry : inputs.values().entrySet()) {
            execution.setState(entry.getKey(), entry.getValue().bytes());
        }
        return execution;
    }

    /** Feeds the data of some steps. */
    static void feed(Execution execution, ModelInputs inputs, long firstStep, int steps) {
        List<Map<Integer, TensorBytes>> values = new ArrayList<>();
        for (int i = 0; i < steps; i++) {
            Map<Integer, TensorBytes> batch = new TreeMap<>();
            for (var source : inputs.data().entrySet()) {
                batch.put(source.getKey(), source.getValue().bytes(firstStep + i));
            }
            values.add(batch);
        }
        execution.feed(values);
    }

    /** Processor time that all threads of all workers have taken so far; 0 where the system does not tell. */
    long processorNanos() {
        return ProcessHandle.current()
                .children()
                .mapToLong(child ->
                        child.info().totalCpuDuration().map(Duration::toNanos).orElse(0L))
                .sum();
    }

    @Override
    public void close() {
        cluster.close();
    }
}

package dev.drover.backend.torch.worker;

import dev.drover.runtime.worker.Worker;
import dev.drover.runtime.worker.WorkerOptions;
import java.util.List;
import java.util.Map;

/** Main class of a worker process. Started by a launcher only. */
public final class TorchWorkerMain {
    /** Of data that waits for its step outside the heap: as much as there is. */
    private static final String MOST_DATA = "1024g";

    private static final String LOOPS = "dev/drover/backend/torch/kernel/BlockLoop.*";

    /**
     * Options of a worker's process. The optimizing compiler begins at twenty times the usual calls, for the workers of a machine all compile
     * the same code in their first minute, and what a step calls often is compiled soon all the same. The loops of elementwise ops, in
     * which Java itself computes, are compiled at once and each for itself. Off-heap memory is planned, not limited.
     */
    public static final List<String> JVM_OPTIONS = List.of(
            "-Xmx1g",
            "-XX:MaxDirectMemorySize=" + MOST_DATA,
            "-XX:+UseSerialGC",
            "-XX:Tier4InvocationThreshold=100000",
            "-XX:Tier4MinInvocationThreshold=15000",
            "-XX:Tier4CompileThreshold=200000",
            "-XX:CompileCommand=quiet",
            "-XX:CompileCommand=CompileThresholdScaling," + LOOPS + ",0.02",
            "-XX:CompileCommand=dontinline," + LOOPS,
            "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0");

    private TorchWorkerMain() {}

    public static void main(String[] args) {
        Map<String, String> environment = System.getenv();
        int threads = Integer.parseInt(environment.getOrDefault("OMP_NUM_THREADS", "1"));
        int exitCode = Worker.run(WorkerOptions.parse(args, environment), () -> new TorchBackend(threads));
        // Threads of native libraries must not hold the process up.
        Runtime.getRuntime().halt(exitCode);
    }
}

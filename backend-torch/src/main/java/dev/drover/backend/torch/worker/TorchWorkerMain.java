package dev.drover.backend.torch.worker;

import dev.drover.runtime.worker.Worker;
import dev.drover.runtime.worker.WorkerOptions;
import java.util.List;
import java.util.Map;

/** Main class of a worker process. Started by a launcher only. */
public final class TorchWorkerMain {
    /**
     * Options of a worker's process. The optimizing compiler begins at four times the usual calls: the workers of a machine all compile the
     * same code in their first minute, and what a step calls often is compiled soon all the same. Off-heap memory is planned, not limited.
     */
    public static final List<String> JVM_OPTIONS = List.of(
            "-Xmx1g",
            "-XX:+UseSerialGC",
            "-XX:Tier4InvocationThreshold=20000",
            "-XX:Tier4MinInvocationThreshold=3000",
            "-XX:Tier4CompileThreshold=40000",
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

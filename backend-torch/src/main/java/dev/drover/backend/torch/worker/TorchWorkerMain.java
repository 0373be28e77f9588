package dev.drover.backend.torch.worker;

import dev.drover.runtime.worker.Worker;
import dev.drover.runtime.worker.WorkerOptions;
import java.util.Map;

/** Main class of a worker process. Started by a launcher only. */
public final class TorchWorkerMain {

    private TorchWorkerMain() {}

    public static void main(String[] args) {
        Map<String, String> environment = System.getenv();
        int threads = Integer.parseInt(environment.getOrDefault("OMP_NUM_THREADS", "1"));
        int exitCode = Worker.run(WorkerOptions.parse(args, environment), () -> new TorchBackend(threads));
        // Threads of native libraries must not hold the process up.
        Runtime.getRuntime().halt(exitCode);
    }
}

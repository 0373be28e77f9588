package dev.drover.bench;

import dev.drover.backend.torch.LibTorch;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import dev.drover.runtime.launch.LocalLauncher;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The zoo's GPT against PyTorch eager on the same shapes and machine: one worker against one process, or {@code workers=2} against
 * DistributedDataParallel over Gloo. Arguments {@code name=value}: layers, hidden, heads, seq, batch, vocab, threads (of each
 * worker), rounds; {@code python} is the interpreter of the peers (must have torch), {@code none} for none; {@code profile=N} prints N
 * lines of where the time of one worker goes.
 */
public final class GptBench {
    private GptBench() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Map<String, String> options = new LinkedHashMap<>();
        for (String pair : List.of(
                "layers=4",
                "hidden=512",
                "heads=8",
                "seq=256",
                "batch=4",
                "vocab=256",
                "workers=1",
                "threads=2",
                "rounds=10",
                "profile=0",
                "python=python3")) {
            options.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        for (String arg : args) {
            String[] pair = arg.split("=", 2);
            if (pair.length != 2 || options.replace(pair[0], pair[1]) == null) {
                System.err.println(
                        "The argument (" + arg + ") must be name=value with a name of " + options.keySet() + ".");
                System.exit(2);
            }
        }
        if (System.getenv("OMP_WAIT_POLICY") == null) {
            System.exit(again(args, number(options, "threads")));
        }
        Model model = Zoo.parse("gpt:layers=" + options.get("layers") + ",hidden=" + options.get("hidden") + ",heads="
                + options.get("heads") + ",seq=" + options.get("seq") + ",batch=" + options.get("batch") + ",vocab="
                + options.get("vocab"));
        System.out.println("OPENBLAS_CORETYPE=" + System.getenv("OPENBLAS_CORETYPE") + " oneDNN " + LibTorch.hasOneDnn()
                + " " + options);
        int workers = number(options, "workers");
        List<Contender> contenders = new ArrayList<>();
        try {
            if (workers == 1) {
                LibTorch.setThreads(number(options, "threads"));
                OneWorker worker = new OneWorker(model);
                contenders.add(worker);
                System.out.println(worker);
                if (number(options, "profile") > 0) {
                    worker.step();
                    worker.profile(number(options, "profile"), 10);
                }
            } else {
                contenders.add(new WorkerProcesses(model, workers, number(options, "threads")));
            }
            if (!"none".equals(options.get("python"))) {
                for (String variant : List.of("explicit", "sdpa", "sdpa fused")) {
                    PythonPeer peer = new PythonPeer(options, variant, workers);
                    contenders.add(peer);
                    if (contenders.size() == 2) {
                        System.out.println("PyTorch " + peer.version());
                    }
                }
            }
            Race.run(contenders, number(options, "rounds"));
        } finally {
            contenders.forEach(Contender::close);
        }
    }

    /** Runs this in a process whose threads wait as those of workers do. */
    private static int again(String[] args, int threads) throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), GptBench.class.getName()));
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().putAll(LocalLauncher.threadEnvironment(threads));
        return builder.start().waitFor();
    }

    private static int number(Map<String, String> options, String name) {
        return Integer.parseInt(options.getOrDefault(name, "0"));
    }
}

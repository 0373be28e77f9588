package dev.drover.bench;

import dev.drover.backend.torch.LibTorch;
import dev.drover.backend.torch.TorchMemory;
import dev.drover.backend.torch.TorchOptions;
import dev.drover.backend.torch.TorchProgram;
import dev.drover.backend.torch.TorchTensor;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.init.InitialValues;
import dev.drover.models.BatchInput;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One worker on the zoo's GPT against PyTorch eager on the same shapes and machine. Arguments {@code name=value}: layers, hidden, heads,
 * seq, batch, vocab, threads, steps, rounds; {@code python} is the interpreter of the peer (must have torch), {@code none} for none.
 *
 * <p>Both run in turns, {@code rounds} times, and the best of each counts; the ratio is the peer's time over ours. CPU time is
 * shown too, for machines that do other work meanwhile.
 */
public final class GptBench {
    private static final Pattern FIELD = Pattern.compile("\"(\\w+)\": \"?([^,\"}]+)");

    private GptBench() {}

    private record Time(double bestMillis, double medianMillis, double cpuMillis) {
        Time better(Time other) {
            return new Time(
                    Math.min(bestMillis, other.bestMillis),
                    Math.min(medianMillis, other.medianMillis),
                    Math.min(cpuMillis, other.cpuMillis));
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Map<String, String> options = new LinkedHashMap<>();
        for (String pair : List.of(
                "layers=4",
                "hidden=512",
                "heads=8",
                "seq=256",
                "batch=4",
                "vocab=256",
                "threads=2",
                "steps=8",
                "rounds=2",
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
            System.exit(again(args));
        }
        int threads = number(options, "threads");
        int steps = number(options, "steps");
        LibTorch.setThreads(threads);
        System.out.println("OPENBLAS_CORETYPE=" + System.getenv("OPENBLAS_CORETYPE") + " OMP_WAIT_POLICY="
                + System.getenv("OMP_WAIT_POLICY") + " " + options);
        Map<String, Time> peers = new LinkedHashMap<>();
        Time ours = null;
        try (Ours worker = new Ours(options)) {
            System.out.println(worker);
            for (int round = 0; round < number(options, "rounds"); round++) {
                Time time = worker.run(steps);
                ours = ours == null ? time : time.better(ours);
                for (Map.Entry<String, Time> peer : peer(options).entrySet()) {
                    peers.merge(peer.getKey(), peer.getValue(), Time::better);
                }
            }
            if (ours == null) {
                throw new IllegalArgumentException("The rounds must be at least 1.");
            }
            worker.profile(number(options, "profile"));
            System.out.printf("drover %s loss %.4f%n", ours, worker.loss);
        }
        for (Map.Entry<String, Time> peer : peers.entrySet()) {
            Time time = peer.getValue();
            System.out.printf(
                    "pytorch %-16s %s   ratio best %.2f median %.2f cpu %.2f%n",
                    peer.getKey(),
                    time,
                    time.bestMillis / ours.bestMillis,
                    time.medianMillis / ours.medianMillis,
                    time.cpuMillis / ours.cpuMillis);
        }
    }

    /** Workers are started so that libgomp's threads sleep while OpenBLAS's compute; so is this. */
    private static int again(String[] args) throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), GptBench.class.getName()));
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
        return builder.start().waitFor();
    }

    private static int number(Map<String, String> options, String name) {
        String value = options.get(name);
        return value == null ? 0 : Integer.parseInt(value);
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    /** The zoo's GPT as one program whose state is updated in place. */
    private static final class Ours implements AutoCloseable {
        private final TorchMemory memory = new TorchMemory();
        private final Model model;
        private final TorchProgram program;
        private final List<TorchTensor> state = new ArrayList<>();
        private final Map<Integer, Integer> inputByOutput = new HashMap<>();
        private double loss;

        Ours(Map<String, String> options) {
            this.model = Zoo.parse("gpt:layers=" + options.get("layers") + ",hidden=" + options.get("hidden")
                    + ",heads="
                    + options.get("heads") + ",seq=" + options.get("seq") + ",batch=" + options.get("batch") + ",vocab="
                    + options.get("vocab"));
            List<OutputRole> outputs = model.step().outputs();
            for (int i = 0; i < outputs.size(); i++) {
                if (outputs.get(i).kind() == OutputRole.Kind.UPDATE) {
                    inputByOutput.put(i, outputs.get(i).input());
                }
            }
            this.program = TorchProgram.compile(
                    model.step().graph().entry(), TorchOptions.of(memory).withDonations(inputByOutput));
            model.initialValues().forEach(spec -> state.add(TorchTensor.of(memory, InitialValues.fill(spec, 1))));
            Random random = new Random(3);
            for (BatchInput input : model.batch()) {
                long[] tokens = new long[(int) input.shape().elements()];
                Arrays.setAll(tokens, i -> random.nextInt((int) input.limit()));
                state.add(TorchTensor.of(memory, Literal.ofLongs(input.shape(), tokens)));
            }
        }

        Time run(int steps) {
            double[] wall = new double[steps];
            double[] cpu = new double[steps];
            for (int i = -2; i < steps; i++) {
                long start = System.nanoTime();
                long cpuStart = cpuNanos();
                List<TorchTensor> outputs = program.run(state);
                for (int o = 0; o < outputs.size(); o++) {
                    Integer input = inputByOutput.get(o);
                    if (input != null) {
                        state.set(input, outputs.get(o));
                    } else {
                        loss = outputs.get(o).toLiteral().asDouble(0);
                        outputs.get(o).close();
                    }
                }
                if (i >= 0) {
                    wall[i] = (System.nanoTime() - start) / 1e6;
                    cpu[i] = (cpuNanos() - cpuStart) / 1e6;
                }
            }
            Arrays.sort(wall);
            Arrays.sort(cpu);
            return new Time(wall[0], wall[steps / 2], cpu[0]);
        }

        /** Prints where the time goes: the slowest instructions, and sums by the stem of their names. */
        void profile(int lines) {
            if (lines == 0) {
                return;
            }
            program.profile();
            int steps = 3;
            run(steps);
            Map<String, Long> byStem = new HashMap<>();
            List<Map.Entry<String, Long>> all =
                    new ArrayList<>(program.nanosByInstruction().entrySet());
            all.forEach(e -> byStem.merge(e.getKey().replaceAll("\\.\\d+$", ""), e.getValue(), Long::sum));
            for (List<Map.Entry<String, Long>> entries : List.of(new ArrayList<>(byStem.entrySet()), all)) {
                entries.sort(Map.Entry.<String, Long>comparingByValue().reversed());
                for (Map.Entry<String, Long> entry : entries.subList(0, Math.min(lines, entries.size()))) {
                    System.out.printf("%10.3f ms  %s%n", entry.getValue() / 1e6 / (steps + 2), entry.getKey());
                }
                System.out.println();
            }
        }

        @Override
        public void close() {
            program.close();
            state.forEach(TorchTensor::close);
            memory.close();
        }

        @Override
        public String toString() {
            return model.name() + ": " + program.stepCount() + " steps, pool " + (program.poolBytes() >> 20)
                    + " MiB, in place " + program.donationsKept() + " of " + inputByOutput.size() + ", on the host "
                    + program.hostSteps();
        }
    }

    private static Map<String, Time> peer(Map<String, String> options) throws IOException, InterruptedException {
        Map<String, Time> times = new LinkedHashMap<>();
        String python = options.getOrDefault("python", "python3");
        if (python.equals("none")) {
            return times;
        }
        Path script = Files.createTempFile("gpt_eager", ".py");
        try (InputStream text = GptBench.class.getResourceAsStream("gpt_eager.py")) {
            if (text == null) {
                throw new IllegalStateException("The resource (gpt_eager.py) must be on the class path.");
            }
            Files.write(script, text.readAllBytes());
            List<String> command = new ArrayList<>(List.of(python, script.toString()));
            for (String name : List.of("vocab", "seq", "hidden", "heads", "layers", "batch", "threads", "steps")) {
                command.add(options.getOrDefault(name, ""));
            }
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    Map<String, String> fields = new HashMap<>();
                    Matcher matcher = FIELD.matcher(line);
                    while (matcher.find()) {
                        fields.put(matcher.group(1), matcher.group(2));
                    }
                    if (fields.containsKey("variant")) {
                        times.put(
                                fields.getOrDefault("variant", ""),
                                new Time(
                                        millis(fields, "bestMillis"),
                                        millis(fields, "medianMillis"),
                                        millis(fields, "cpuMillis")));
                    } else {
                        System.err.println(line);
                    }
                }
            }
            if (process.waitFor() != 0) {
                System.err.println(
                        "The peer (" + python + ") must have PyTorch. Maybe give python=PATH, or python=none.");
            }
        } finally {
            Files.deleteIfExists(script);
        }
        return times;
    }

    private static double millis(Map<String, String> fields, String name) {
        return Double.parseDouble(fields.getOrDefault(name, "NaN"));
    }
}

package dev.drover.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Prints what {@code plan} predicts beside what {@code train} measures: step time and, for each worker, memory. Each plan is trained by the
 * command line in processes of its own; the machine is measured anew before each round, in the same minutes.
 *
 * <pre>
 *   java -cp CLASSES dev.drover.bench.PredictionBench [rounds [steps [corpus [only]]]]
 * </pre>
 *
 * <p>With {@code only}, plans whose names contain it. Steps are given as their median, as a fast one (a fifth are faster), and as the processor time that the computing of all workers took:
 * on a machine that does other work too, steps are long by what that takes, but processor time is not, and predictions are for a machine
 * that does nothing else.
 */
public final class PredictionBench {
    private static final String GPT = "gpt:layers=4,hidden=128,heads=4,seq=64,batch=16";
    private static final String MOE = "moe:layers=2,hidden=64,heads=4,seq=32,batch=8,experts=4";
    private static final String MLP = "mlp:layers=4,hidden=512,batch=128";

    private final Path folder;
    private final int steps;

    /** One plan and how to ask for it. */
    private record Case(String name, List<String> arguments) {}

    private PredictionBench(Path folder, int steps) {
        this.folder = folder;
        this.steps = steps;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        int steps = args.length > 1 ? Integer.parseInt(args[1]) : 60;
        Path corpus = Path.of(args.length > 2 ? args[2] : "../shared/corpus");
        Path folder = Files.createTempDirectory("prediction");
        List<Case> cases = new ArrayList<>(List.of(
                plan("gpt, 1 stage x mesh 4", GPT, 4, 1, 4, 1),
                plan("gpt, 2 x 2, M=4", GPT, 4, 2, 2, 4),
                plan("gpt, 4 x 1, M=8", GPT, 4, 4, 1, 8),
                plan("moe, 1 x 2", MOE, 2, 1, 2, 1),
                plan("mlp, 1 x 2", MLP, 2, 1, 2, 1)));
        Path tied = corpus.resolve("jax").resolve("gpt_tiny_tied").resolve("step.hlo");
        if (Files.exists(tied)) {
            cases.add(plan("gpt_tiny_tied, 2 x 1, M=2", tied.toString(), 2, 2, 1, 2));
        }
        String only = args.length > 3 ? args[3] : "";
        cases.removeIf(one -> !one.name().contains(only));
        PredictionBench bench = new PredictionBench(folder, steps);
        Map<String, List<Double>> errorsByCase = new TreeMap<>();
        for (int round = 0; round < rounds; round++) {
            deleteCalibration(folder.resolve(".drover"));
            System.out.printf(
                    Locale.ROOT,
                    "%n%-28s %12s %12s %7s %12s %7s %12s %12s %7s   memory of the workers: predicted / allocated%n",
                    "round " + (round + 1),
                    "predicted",
                    "median",
                    "error",
                    "fast",
                    "error",
                    "processor",
                    "predicted",
                    "error");
            for (Case one : cases) {
                errorsByCase.computeIfAbsent(one.name(), k -> new ArrayList<>()).add(bench.run(one));
            }
        }
        System.out.println();
        errorsByCase.forEach((name, errors) -> System.out.printf(
                Locale.ROOT,
                "%-28s error of the step time against the median: %+.0f to %+.0f %%%n",
                name,
                errors.stream().mapToDouble(e -> e).min().orElse(0),
                errors.stream().mapToDouble(e -> e).max().orElse(0)));
    }

    private static Case plan(String name, String model, int workers, int stages, int mesh, int microBatches) {
        return new Case(
                name,
                List.of(
                        "train",
                        model,
                        "--workers",
                        String.valueOf(workers),
                        "--stages",
                        String.valueOf(stages),
                        "--mesh",
                        String.valueOf(mesh),
                        "--micro-batches",
                        String.valueOf(microBatches)));
    }

    private static void deleteCalibration(Path drover) throws IOException {
        if (Files.isDirectory(drover)) {
            try (var files = Files.walk(drover)) {
                for (Path file : files.filter(f -> f.endsWith("figures.json")).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    /** What was measured once the workers were warm, sorted. */
    private static List<Double> secondHalf(JsonNode byStep) {
        List<Double> millis = new ArrayList<>();
        byStep.forEach(node -> millis.add(node.asDouble()));
        return millis.subList(millis.size() / 2, millis.size()).stream()
                .sorted()
                .toList();
    }

    /** Trains and prints a row; gives the error of the predicted time against the median in percent. */
    private double run(Case one) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx2g",
                "-XX:+UseSerialGC",
                "-Dorg.bytedeco.javacpp.maxPhysicalBytes=0",
                "-Ddrover.root="
                        + System.getProperty(
                                "drover.root", Path.of("").toAbsolutePath().toString()),
                "-Duser.home=" + folder,
                "-Dorg.bytedeco.javacpp.cachedir="
                        + System.getProperty(
                                "org.bytedeco.javacpp.cachedir",
                                Path.of(System.getProperty("user.home"), ".javacpp", "cache")
                                        .toString()),
                "-cp",
                System.getProperty("java.class.path"),
                "dev.drover.cli.Main"));
        command.addAll(one.arguments());
        command.addAll(List.of("--json", "--steps", String.valueOf(steps)));
        command.addAll(List.of("--run-folder", folder.resolve("run").toString()));
        File out = folder.resolve("out.json").toFile();
        File log = folder.resolve("log.txt").toFile();
        Process process = new ProcessBuilder(command)
                .redirectOutput(out)
                .redirectError(log)
                .start();
        if (!process.waitFor(10, TimeUnit.MINUTES) || process.exitValue() != 0) {
            process.destroy();
            throw new IllegalStateException("The plan (" + one.name() + ") must train; its log is " + log + ".");
        }
        JsonNode result = new ObjectMapper().readTree(out);
        List<Double> warm = secondHalf(result.get("stepMillisByStep"));
        List<Double> processors = secondHalf(result.get("processorMillisByStep"));
        double processor = processors.get(processors.size() / 2);
        double predictedProcessor = result.get("predictedProcessorMillis").asDouble();
        double predicted = result.get("predictedStepMillis").asDouble();
        double median = warm.get(warm.size() / 2);
        double fast = warm.get(warm.size() / 5);
        StringBuilder memory = new StringBuilder();
        for (JsonNode worker : result.get("memory")) {
            memory.append(String.format(
                    Locale.ROOT,
                    "  %.2f / %.2f MiB",
                    worker.get("predictedBytes").asLong() / 1048576.0,
                    worker.get("allocatedBytes").asLong() / 1048576.0));
        }
        System.out.printf(
                Locale.ROOT,
                "%-28s %9.2f ms %9.2f ms %+5.0f %% %9.2f ms %+5.0f %% %9.2f ms %9.2f ms %+5.0f %% %s%n",
                one.name(),
                predicted,
                median,
                100 * (predicted / median - 1),
                fast,
                100 * (predicted / fast - 1),
                processor,
                predictedProcessor,
                100 * (predictedProcessor / processor - 1),
                memory);
        return 100 * (predicted / median - 1);
    }
}

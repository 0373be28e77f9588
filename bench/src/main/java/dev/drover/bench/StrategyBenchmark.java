package dev.drover.bench;

import dev.drover.solver.ContestFile;
import dev.drover.solver.ProgressListener;
import dev.drover.solver.Solution;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategyProblem;
import dev.drover.solver.StrategySolver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Solves the contest's instances and prints cost, bound and time beside what was known.
 *
 * <p>Arguments: the folder of the instances, then optionally the part of the contest's time limit to use (1 if absent,
 * 0.1 for the short runs), then the names of instances.
 */
public final class StrategyBenchmark {
    private StrategyBenchmark() {}

    /** One instance of the contest: its limit, the best known cost and the bound that the project asks for. */
    private record Instance(String name, double limitSeconds, long known, long winner, double bound) {}

    private static final List<Instance> INSTANCES = List.of(
            new Instance("A", 60, 6_548_641_531L, 6_569_457_721L, 6.50e9),
            new Instance("G", 120, 217_039L, 217_039L, 216_900),
            new Instance("M", 180, 49_928_157_500L, 49_928_188_574L, 4.93e10),
            new Instance("S", 240, 1_521_949_310L, 1_661_489_318L, 1.50e9));

    /**
     * Runs the table.
     *
     * @param args folder, part of the limits, names
     * @throws IOException if an instance cannot be read
     */
    public static void main(String[] args) throws IOException {
        if (args.length == 0) {
            System.err.println("The folder of the instances must be given.\nMaybe ../shared/corpus/iopddl");
            System.exit(2);
        }
        double part = args.length > 1 ? Double.parseDouble(args[1]) : 1;
        List<String> names = List.of(args).subList(Math.min(2, args.length), args.length);
        System.out.println(
                "| instance | cost | bound | gap | seconds | last gain at | to best known | to winner here |");
        System.out.println("|---|---|---|---|---|---|---|---|");
        for (Instance instance : INSTANCES) {
            Path file = Path.of(args[0], "asplos-2025-iopddl-" + instance.name() + ".json.gz");
            if (!Files.exists(file) || !(names.isEmpty() || names.contains(instance.name()))) {
                continue;
            }
            long start = System.nanoTime();
            StrategyProblem problem = ContestFile.read(file);
            double reading = (System.nanoTime() - start) / 1e9;
            Solution solution = StrategySolver.solve(
                    problem, SolveOptions.ofSeconds(instance.limitSeconds() * part - reading), ProgressListener.SILENT);
            double last = solution.improvements().stream()
                    .filter(step -> step.objective() == solution.objective())
                    .mapToDouble(step -> step.seconds() + reading)
                    .findFirst()
                    .orElse(0);
            System.out.printf(
                    "| %s | %,d | %,d | %.3f %% | %.1f | %.1f | %+.4f %% | %+.4f %% |%n",
                    instance.name(),
                    solution.objective(),
                    solution.lowerBound(),
                    100 * solution.gap(),
                    (System.nanoTime() - start) / 1e9,
                    last,
                    100.0 * (solution.objective() - instance.known()) / instance.known(),
                    100.0 * (solution.objective() - instance.winner()) / instance.winner());
            if (solution.lowerBound() < instance.bound()) {
                System.out.printf("(bound of %s below the wanted %,.0f)%n", instance.name(), instance.bound());
            }
        }
    }
}

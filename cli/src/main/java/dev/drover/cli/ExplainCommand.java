package dev.drover.cli;

import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.Instruction;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.text.Plan;
import dev.drover.plan.text.StrategyText;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.Roofline;
import dev.drover.planner.search.Planned;
import dev.drover.planner.spmd.StrategyPrices;
import dev.drover.report.InputPlacement;
import dev.drover.report.PlacedStep;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.DoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover explain}. */
@Command(
        name = "explain",
        description = "Tells what a plan decides, what it costs, why, and why not otherwise.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover explain plan.json --value dot.3"})
final class ExplainCommand implements Callable<Integer> {
    private static final String SHARDINGS =
            "R: replicated; Sd/n: dim d is cut, n units stay together; P: partial sums.";

    @Parameters(paramLabel = "P", description = "A plan file.")
    String plan = "";

    @Option(
            names = "--value",
            paramLabel = "NAME",
            description = "One value: every strategy that it could have, with its price.")
    @Nullable
    String value;

    @Option(names = "--model", paramLabel = "MODEL", description = "The model, if it is no longer where the plan says.")
    @Nullable
    String model;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    @Override
    public Integer call() {
        long start = System.nanoTime();
        StoredPlan stored = PlanOptions.stored(plan, model);
        Planned planned = stored.compiled();
        if (value == null) {
            if (json) {
                Map<String, Object> out = PlanTables.json(planned, (System.nanoTime() - start) / 1e6);
                out.put("candidates", PlanTables.candidatesJson(stored.plan()));
                Output.json(out);
            } else {
                PlanTables.print(planned);
                parameters(stored);
            }
            return 0;
        }
        explainValue(stored, value);
        return 0;
    }

    /** How the inputs are kept: the decisions that a person asks about first. */
    private static void parameters(StoredPlan stored) {
        List<List<String>> rows = InputPlacement.rows(
                InputPlacement.of(PlacedStep.of(stored.plan(), stored.model().flat())));
        System.out.println();
        Output.table(InputPlacement.HEADER, rows);
        System.out.println();
        System.out.println(
                SHARDINGS + " Ask about one value with --value " + rows.get(0).get(0) + ".");
        String note = InputPlacement.note(stored.plan().microBatches());
        if (!note.isEmpty()) {
            System.out.println(note);
        }
    }

    private void explainValue(StoredPlan stored, String name) {
        PlacedStep placed = PlacedStep.of(stored.plan(), stored.model().flat());
        CutStep cut = placed.cut();
        Instruction instruction = find(stored, cut, name);
        Plan of = stored.plan();
        Mesh mesh = of.mesh();
        Resharder resharder = new Resharder(mesh, new MeshCollectives(of.cluster(), mesh, 0));
        List<StrategyPrices.Price> prices = new StrategyPrices(
                        cut.computation(),
                        PlanCompiler.updatedParameters(cut),
                        placed.decisions(),
                        new Roofline(of.cluster().deviceType(0), of.cluster().measured()),
                        resharder)
                .of(instruction);
        StageAssignment assignment = placed.assignment();
        OpShardings shardings = new OpShardings(instruction, mesh);
        if (json) {
            Map<String, Object> out = new LinkedHashMap<>();
            out.put("value", instruction.name());
            out.put("instruction", instruction.toString());
            out.put("rule", shardings.rule().toString());
            out.put("stage", assignment.stage(instruction.id()));
            out.put("phase", assignment.phase(instruction.id()).toString());
            List<Map<String, Object>> rows = new ArrayList<>();
            for (StrategyPrices.Price price : prices) {
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("strategy", StrategyText.print(shardings, price.strategy(), mesh));
                row.put("chosen", price.chosen());
                row.put("result", text(price.results(), mesh));
                row.put("computeNanos", price.computeNanos());
                row.put("operandNanos", price.operandNanos());
                row.put("userNanos", price.userNanos());
                row.put("resultBytes", price.resultBytes());
                rows.add(row);
            }
            out.put("strategies", rows);
            Output.json(out);
            return;
        }
        System.out.println(instruction);
        System.out.println("rule " + shardings.rule());
        System.out.println("stage " + assignment.stage(instruction.id()) + ", " + assignment.phase(instruction.id())
                + (cut.perMicroBatch(instruction.id()) ? microBatch(of) : ""));
        System.out.println();
        List<List<String>> rows = new ArrayList<>();
        DoubleFunction<String> time = Output.timeIn(prices.stream()
                .mapToDouble(StrategyPrices.Price::totalNanos)
                .max()
                .orElse(0));
        for (StrategyPrices.Price price : prices) {
            rows.add(List.of(
                    StrategyText.print(shardings, price.strategy(), mesh),
                    text(price.results(), mesh),
                    time.apply(price.computeNanos()),
                    time.apply(price.operandNanos()),
                    time.apply(price.userNanos()),
                    time.apply(price.totalNanos()),
                    MemoryUse.text(price.resultBytes()),
                    price.chosen() ? "chosen" : ""));
        }
        Output.table(
                List.of("strategy", "result", "compute", "operands", "users", "together", "per device", "verdict"),
                rows);
        System.out.println();
        System.out.println(
                "Times are of one execution, everything else as decided. A strategy names per axis the factor that"
                        + " is cut, - for replicated, +g where a partial sum passes. Results: " + SHARDINGS);
    }

    private static String microBatch(Plan plan) {
        return plan.microBatches() == 1 ? "" : "; shapes are those of one of " + plan.microBatches() + " micro-batches";
    }

    private static String text(List<Sharding> shardings, Mesh mesh) {
        return String.join("; ", shardings.stream().map(s -> s.text(mesh)).toList());
    }

    private static Instruction find(StoredPlan stored, CutStep cut, String name) {
        List<String> names = new ArrayList<>();
        for (Instruction instruction : cut.computation().instructions()) {
            if (instruction.name().equals(name)) {
                return instruction;
            }
            names.add(instruction.name());
        }
        for (Instruction parameter : cut.computation().parameters()) {
            int input = cut.inputs().get(number(parameter)).input();
            if (input >= 0) {
                String inputName = cut.step().inputs().get(input).name();
                if (inputName.equals(name)) {
                    return parameter;
                }
                names.add(inputName);
            }
        }
        List<String> near = Nearest.among(name, names);
        throw new UserError(
                "The value (" + name + ") must be an instruction or an input of the model ("
                        + stored.model().source() + ").",
                near.isEmpty()
                        ? "Maybe take a name from the inputs that drover explain lists without --value."
                        : "Maybe " + String.join(" or ", near) + ".");
    }

    private static int number(Instruction parameter) {
        return ((dev.drover.ir.ops.Parameter) parameter.op()).number();
    }
}

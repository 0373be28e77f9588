package dev.drover.cli;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code drover inspect}. */
@Command(
        name = "inspect",
        description = "Shows what is in a model: roles of inputs and outputs, ops, flops, parameters.",
        mixinStandardHelpOptions = true,
        footer = {"", "Example: drover inspect gpt:layers=4,hidden=128,batch=16 --inputs"})
final class InspectCommand implements Callable<Integer> {
    @Parameters(paramLabel = "MODEL", description = "A file of HLO text, or a zoo name.")
    String model = "";

    @Option(names = "--inputs", description = "Also list each input and output with its role.")
    boolean inputs;

    @Option(names = "--json", description = "Print one JSON object.")
    boolean json;

    /** Ops of one code. */
    private record OpUse(long count, double flops) {}

    @Override
    public Integer call() {
        LoadedModel loaded = LoadedModel.load(model);
        TrainingStep step = loaded.flat();
        StepMemory.tellIfNotRun(step);
        Computation entry = step.graph().entry();
        Map<String, OpUse> uses = new TreeMap<>();
        double flops = 0;
        for (Instruction instruction : entry.instructions()) {
            double own = instruction.op().flops(instruction.operandShapes(), instruction.shape());
            flops += own;
            uses.merge(
                    instruction.op().opcode(),
                    new OpUse(1, own),
                    (a, b) -> new OpUse(a.count() + b.count(), a.flops() + b.flops()));
        }
        Map<String, Map<String, Long>> roles = roles(step);
        if (json) {
            printJson(loaded, uses, flops, roles);
        } else {
            printText(loaded, uses, flops, roles);
        }
        return 0;
    }

    private static Map<String, Map<String, Long>> roles(TrainingStep step) {
        Map<String, Map<String, Long>> roles = new LinkedHashMap<>();
        List<ArrayShape> shapes = step.inputShapes();
        for (InputRole.Kind kind : InputRole.Kind.values()) {
            long elements = 0;
            long bytes = 0;
            List<Integer> inputs = step.inputs(kind);
            for (int input : inputs) {
                elements += shapes.get(input).elements();
                bytes += shapes.get(input).sizeBytes();
            }
            if (!inputs.isEmpty()) {
                Map<String, Long> row = new LinkedHashMap<>();
                row.put("count", (long) inputs.size());
                row.put("elements", elements);
                row.put("bytes", bytes);
                roles.put(kind.key(), row);
            }
        }
        return roles;
    }

    /** In which the flops of a whole step are a number of few digits. */
    private record FlopUnit(String name, double flops) {
        static FlopUnit of(double step) {
            return step < 1e6
                    ? new FlopUnit("kflop", 1e3)
                    : step < 1e9
                            ? new FlopUnit("Mflop", 1e6)
                            : step < 1e13 ? new FlopUnit("Gflop", 1e9) : new FlopUnit("Tflop", 1e12);
        }
    }

    private static String outputText(TrainingStep step, int output) {
        OutputRole role = step.outputs().get(output);
        return role.kind() == OutputRole.Kind.UPDATE
                ? "updates " + step.inputs().get(role.input()).name()
                : role.kind().name().toLowerCase(Locale.ROOT);
    }

    private void printJson(
            LoadedModel loaded, Map<String, OpUse> uses, double flops, Map<String, Map<String, Long>> roles) {
        TrainingStep step = loaded.flat();
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("model", loaded.source());
        out.put("instructions", step.graph().entry().size());
        out.put("flops", flops);
        out.put("roles", roles);
        Map<String, Long> ops = new LinkedHashMap<>();
        uses.forEach((code, use) -> ops.put(code, use.count()));
        out.put("ops", ops);
        List<Map<String, Object>> listed = new ArrayList<>();
        for (int i = 0; i < step.inputs().size(); i++) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("name", step.inputs().get(i).name());
            row.put("role", step.inputs().get(i).kind().key());
            row.put("shape", step.inputShapes().get(i).toString());
            listed.add(row);
        }
        out.put("inputs", listed);
        List<Map<String, Object>> outputs = new ArrayList<>();
        for (int i = 0; i < step.outputs().size(); i++) {
            Map<String, Object> row = new LinkedHashMap<>();
            OutputRole role = step.outputs().get(i);
            row.put("role", role.kind().name().toLowerCase(Locale.ROOT));
            row.put("input", role.input());
            row.put("shape", step.outputShapes().get(i).toString());
            outputs.add(row);
        }
        out.put("outputs", outputs);
        Output.json(out);
    }

    private void printText(
            LoadedModel loaded, Map<String, OpUse> uses, double flops, Map<String, Map<String, Long>> roles) {
        TrainingStep step = loaded.flat();
        FlopUnit unit = FlopUnit.of(flops);
        System.out.printf(
                Locale.ROOT,
                "%s: %d instructions, %.3f %s a step, %d %ss a step%n%n",
                loaded.source(),
                step.graph().entry().size(),
                flops / unit.flops(),
                unit.name(),
                loaded.samples(),
                loaded.sampleUnit());
        List<List<String>> rows = new ArrayList<>();
        roles.forEach((kind, row) -> rows.add(List.of(
                kind.replace('_', ' '),
                String.valueOf(row.get("count")),
                String.valueOf(row.get("elements")),
                String.valueOf(row.get("bytes")))));
        Output.table(List.of("inputs", "count", "elements", "bytes"), rows);
        System.out.println();
        List<List<String>> ops = new ArrayList<>();
        uses.entrySet().stream()
                .sorted(Map.Entry.<String, OpUse>comparingByValue((a, b) -> Double.compare(b.flops(), a.flops()))
                        .thenComparing(Map.Entry.comparingByKey()))
                .forEach(e -> ops.add(List.of(
                        e.getKey(),
                        String.valueOf(e.getValue().count()),
                        String.format(Locale.ROOT, "%.3f", e.getValue().flops() / unit.flops()))));
        Output.table(List.of("op", "count", unit.name()), ops);
        System.out.println();
        if (inputs) {
            List<List<String>> inputRows = new ArrayList<>();
            for (int i = 0; i < step.inputs().size(); i++) {
                InputRole input = step.inputs().get(i);
                inputRows.add(List.of(
                        "input " + i,
                        input.name(),
                        step.inputShapes().get(i).toString(),
                        input.kind().text()));
            }
            Output.textTable(inputRows);
            List<List<String>> outputRows = new ArrayList<>();
            for (int i = 0; i < step.outputs().size(); i++) {
                outputRows.add(List.of("output " + i, step.outputShapes().get(i).toString(), outputText(step, i)));
            }
            Output.textTable(outputRows);
        } else {
            long updates = step.outputs().stream()
                    .filter(r -> r.kind() == OutputRole.Kind.UPDATE)
                    .count();
            System.out.println(step.outputs().size() + " outputs: " + updates + " updates, loss "
                    + (step.loss() < 0 ? "unknown" : "is output " + step.loss()) + ". --inputs lists all.");
        }
    }
}

package dev.drover.planner.search;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.drover.ir.UserError;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.ir.type.ArrayShape;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.sim.Simulator;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ReferenceRun;
import dev.drover.plan.text.ExecutionPlanText;
import dev.drover.plan.text.Plan;
import dev.drover.plan.text.PlanText;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.ProgramRoofline;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Plan files whose values were changed by chance, well-formed all of them: each is refused in the user's words, or it is another way to
 * compute the same step.
 */
class PlanMutationTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<Long> NUMBERS =
            List.of(0L, 1L, 2L, 3L, 4L, -1L, 7L, 1000L, 65_537L, (long) Integer.MAX_VALUE, Long.MAX_VALUE);
    private static final List<String> TEXTS =
            List.of("", "-", "- -", "+0", "+1 -", "x", "kfkb:3", "kfkb:99", "gpipe", "1e9", " ");

    private static final Cluster CLUSTER = Presets.parse("s1:4", () -> {
                throw new IllegalStateException("The machine must not be measured.");
            })
            .withMeasured(new Measured(
                    2,
                    new TreeMap<>(Map.of(
                            "dot",
                            new TreeMap<>(Map.of(1024L, 500.0)),
                            "all-reduce/4",
                            new TreeMap<>(Map.of(1L, 3e4, 4096L, 4e4))))));

    /** A model with plans for it, and what its step computes. */
    private static final class Subject {
        private final TrainingStep step;
        private final List<Literal> inputs;
        private final List<Value> whole;
        private final List<String> plans = new ArrayList<>();
        /** By text of an execution plan: what was wrong with it. */
        private final Map<String, String> faultByExecution = new TreeMap<>();

        Subject(String model, SearchOptions... layouts) {
            this.step = Flatten.run(Zoo.parse(model).step());
            this.inputs = inputs(step);
            this.whole = ((Value.Tuple) Evaluator.evaluate(step.graph().entry(), inputs)).elements();
            for (SearchOptions layout : layouts) {
                Plan plan = PlanSearch.search(
                                step, model, CLUSTER, DeviceMemory.ESTIMATE, layout, SearchListener.SILENT)
                        .plan();
                plans.add(PlanText.print(plan));
            }
        }

        /** What is wrong with how a plan file is taken; empty if nothing is. */
        String fault(String text) {
            try {
                Plan plan = PlanText.parse(text, "p.json");
                Resharder resharder = new Resharder(plan.mesh(), new MeshCollectives(plan.cluster(), plan.mesh(), 0));
                ExecutionPlan execution = PlanCompiler.compile(step, plan, resharder);
                SimulatedStep simulated = Simulator.simulate(
                        execution, plan.cluster(), new ProgramRoofline(plan.cluster()), DeviceMemory.ESTIMATE);
                if (!(simulated.stepNanos() > 0)) {
                    return "takes " + simulated.stepNanos() + " ns";
                }
                if (!PlanText.parse(PlanText.print(plan), "p.json").equals(plan)) {
                    return "is another plan when printed";
                }
                return faultByExecution.computeIfAbsent(ExecutionPlanText.print(execution), k -> difference(execution));
            } catch (UserError e) {
                List<String> lines = String.valueOf(e.getMessage()).lines().toList();
                boolean clear = lines.size() <= 2
                        && lines.get(0).startsWith("The ")
                        && lines.get(0).contains(" must ")
                        && lines.get(0).matches(".*(p\\.json| plan\\b| step \\().*")
                        && !lines.get(0).matches(".*([A-Z]\\w+\\[\\w+=|dev\\.drover|java\\.).*")
                        && (lines.size() == 1 || lines.get(1).startsWith("Maybe "));
                return clear ? "" : "is told: " + e.getMessage();
            } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
                return "ends with " + e + at(e);
            }
        }

        private static String at(Throwable e) {
            return e.getStackTrace().length == 0 ? "" : " at " + e.getStackTrace()[0];
        }

        private String difference(ExecutionPlan execution) {
            List<Literal> parts = ReferenceRun.run(execution, inputs, step.outputShapes());
            for (int i = 0; i < parts.size(); i++) {
                Literal expected = whole.get(i).literal();
                for (int k = 0; k < expected.size(); k++) {
                    double value = expected.asDouble(k);
                    if (!(Math.abs(parts.get(i).asDouble(k) - value) <= 1e-5 + 1e-4 * Math.abs(value))) {
                        return "computes " + parts.get(i).asDouble(k) + " for " + value + " in output " + i;
                    }
                }
            }
            return "";
        }

        private static List<Literal> inputs(TrainingStep step) {
            Random random = new Random(11);
            List<Literal> out = new ArrayList<>();
            for (int i = 0; i < step.inputs().size(); i++) {
                ArrayShape shape = step.inputShapes().get(i);
                boolean isBatch = step.inputs().get(i).kind() == InputRole.Kind.BATCH;
                boolean isPositive = step.inputs().get(i).kind() == InputRole.Kind.OPTIMIZER_STATE;
                double[] values = new double[Math.toIntExact(shape.elements())];
                for (int k = 0; k < values.length; k++) {
                    double value = random.nextGaussian() * 0.1;
                    values[k] = shape.dtype().isFloat()
                            ? (isPositive ? Math.abs(value) : value)
                            : isBatch ? random.nextInt(8) : 1;
                }
                out.add(
                        shape.dtype().isFloat()
                                ? Literal.ofDoubles(shape, values)
                                : Literal.ofLongs(
                                        shape,
                                        Arrays.stream(values)
                                                .mapToLong(v -> (long) v)
                                                .toArray()));
            }
            return out;
        }
    }

    /** One change by chance: of the stages and phases of some instructions, of a strategy, or of anything. */
    private static JsonNode mutated(JsonNode plan, Random random) {
        JsonNode copy = plan.deepCopy();
        boolean hasBoth =
                copy.get("stageRuns").size() > 0 && copy.get("strategies").size() > 0;
        switch (hasBoth ? random.nextInt(4) : 2) {
            case 0 -> moveSome((ArrayNode) copy.get("stageRuns"), random);
            case 1 -> {
                ObjectNode strategies = (ObjectNode) copy.get("strategies");
                List<String> names = new ArrayList<>();
                strategies.fieldNames().forEachRemaining(names::add);
                String name = names.get(random.nextInt(names.size()));
                JsonNode text = strategies.get(names.get(random.nextInt(names.size())));
                strategies.set(random.nextInt(3) == 0 ? name + ".1" : name, text);
                if (random.nextInt(3) == 0) {
                    strategies.remove(name);
                }
            }
            default -> change(copy, random);
        }
        return copy;
    }

    /** Other stages and phases for the beginning or end of a run; the instructions are as many as before. */
    private static void moveSome(ArrayNode runs, Random random) {
        int at = random.nextInt(runs.size());
        ObjectNode run = (ObjectNode) runs.get(at);
        ObjectNode part = run.deepCopy();
        int count = run.get("count").intValue();
        int moved = random.nextBoolean() ? count : 1 + random.nextInt(count);
        ObjectNode like = (ObjectNode) runs.get(random.nextInt(runs.size()));
        if (random.nextBoolean()) {
            part.set("phase", like.get("phase"));
        }
        if (random.nextInt(3) > 0) {
            part.set("stage", like.get("stage"));
        }
        part.put("count", moved);
        boolean atBeginning = random.nextBoolean();
        runs.insert(atBeginning ? at : at + 1, part);
        if (moved < count) {
            run.put("count", count - moved);
        } else {
            runs.remove(atBeginning ? at + 1 : at);
        }
    }

    private static JsonNode change(JsonNode copy, Random random) {
        JsonNode at = copy;
        while (true) {
            List<String> keys = new ArrayList<>();
            at.fieldNames().forEachRemaining(keys::add);
            boolean isList = at instanceof ArrayNode;
            int size = isList ? at.size() : keys.size();
            if (size == 0) {
                return copy;
            }
            int child = random.nextInt(size);
            JsonNode value = isList ? at.get(child) : at.get(keys.get(child));
            if (value.isContainerNode() && value.size() > 0 && random.nextInt(6) > 0) {
                at = value;
                continue;
            }
            JsonNode other = other(value, at, random);
            if (at instanceof ArrayNode list) {
                switch (random.nextInt(4)) {
                    case 0 -> list.remove(child);
                    case 1 -> list.insert(child, value.deepCopy());
                    case 2 -> {
                        list.remove(child);
                        list.insert(random.nextInt(list.size() + 1), value);
                    }
                    default -> list.set(child, other);
                }
            } else if (at instanceof ObjectNode map) {
                map.set(keys.get(child), other);
            }
            return copy;
        }
    }

    /** Another value of the same kind, often one that stands elsewhere in the same place. */
    private static JsonNode other(JsonNode value, JsonNode parent, Random random) {
        if (value.isNumber()) {
            long number = switch (random.nextInt(4)) {
                case 0 -> value.longValue() + 1;
                case 1 -> value.longValue() - 1;
                case 2 -> value.longValue() * 2;
                default -> NUMBERS.get(random.nextInt(NUMBERS.size()));
            };
            return JSON.getNodeFactory().numberNode(number);
        }
        if (value.isTextual()) {
            String text = TEXTS.get(random.nextInt(TEXTS.size()));
            if (value.textValue().matches("PRE|FORWARD|BACKWARD|POST")) {
                text = List.of("PRE", "FORWARD", "BACKWARD", "POST").get(random.nextInt(4));
            } else if (random.nextInt(3) > 0 && parent.size() > 1) {
                int sibling = random.nextInt(parent.size());
                for (JsonNode one : parent) {
                    text = sibling-- == 0 && one.isTextual() ? one.textValue() : text;
                }
            }
            return JSON.getNodeFactory().textNode(text);
        }
        return value.isBoolean() ? JSON.getNodeFactory().booleanNode(!value.booleanValue()) : value;
    }

    /** Mutants that are taken wrongly, and why. */
    static List<String> faults(int mutantsOfEach, long seed) throws JsonProcessingException {
        List<Subject> subjects = List.of(
                new Subject(
                        "mlp:layers=2,hidden=8,batch=4,features=4",
                        SearchOptions.OPEN.withMesh(List.of(2, 2)).withMicroBatches(1),
                        SearchOptions.OPEN.withStages(2).withMicroBatches(4).withSchedule("gpipe")),
                new Subject(
                        "gpt:layers=1,hidden=8,heads=2,seq=4,batch=4,vocab=16",
                        SearchOptions.OPEN.withStages(2).withMicroBatches(2),
                        SearchOptions.OPEN.withStages(4).withMicroBatches(4),
                        SearchOptions.OPEN.withMesh(List.of(4)).withMicroBatches(2)));
        Random random = new Random(seed);
        List<String> faults = new ArrayList<>();
        int executed = 0;
        for (Subject subject : subjects) {
            for (String text : subject.plans) {
                JsonNode plan = JSON.readTree(text);
                Set<String> seen = new HashSet<>();
                for (int i = 0; i < mutantsOfEach; i++) {
                    JsonNode mutant = mutated(plan, random);
                    if (random.nextInt(4) == 0) {
                        mutant = mutated(mutant, random);
                    }
                    String written = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(mutant);
                    String fault = subject.fault(written);
                    if (!fault.isEmpty() && seen.add(fault.replaceAll("\\d+", "0"))) {
                        faults.add(difference(plan, mutant, "") + ": " + fault);
                    }
                }
            }
            executed += subject.faultByExecution.size();
        }
        assertThat(executed).as("different executions that were accepted").isGreaterThan(5);
        return faults;
    }

    private static String difference(JsonNode good, JsonNode bad, String path) {
        if (good.equals(bad)) {
            return "";
        }
        StringBuilder out = new StringBuilder();
        if (good instanceof ObjectNode && bad instanceof ObjectNode) {
            good.fieldNames()
                    .forEachRemaining(key -> out.append(difference(good.path(key), bad.path(key), path + "/" + key)));
            return out.toString();
        }
        if (good.isArray() && bad.isArray() && good.size() == bad.size()) {
            for (int i = 0; i < good.size(); i++) {
                out.append(difference(good.get(i), bad.get(i), path + "/" + i));
            }
            return out.toString();
        }
        return path + (good.isArray() ? " has " + bad.size() + " for " + good.size() : " is " + bad + " for " + good)
                + " ";
    }

    @Test
    void mutantsAreRefusedOrComputeTheSame() throws JsonProcessingException {
        long seed = Long.getLong("seed", 5);
        assertThat(faults(200, seed)).as("seed %d", seed).isEmpty();
    }
}

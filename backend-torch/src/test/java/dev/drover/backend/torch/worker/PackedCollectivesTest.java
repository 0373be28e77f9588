package dev.drover.backend.torch.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.InitialState;
import dev.drover.testkit.ProcessCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Collectives of many operands on three processes: scalars, rows, matrices cut along their second dim, floats and integers, some so
 * large that they travel alone. What they give must be, bit for bit, what a collective of its own gives for each operand; and the sums
 * must be right.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class PackedCollectivesTest {
    private static final int WORKERS = 3;
    private static final ArrayShape X = OneProgram.x(WORKERS);
    private static final String GROUPS = "replica_groups={{0,1,2}}";

    /** A kind of collective and what it is called on; results by operand. */
    private record Case(String name, String attributes, List<String> operands, List<String> results) {}

    private static final List<Case> CASES = List.of(
            new Case(
                    "all-reduce",
                    GROUPS + ", to_apply=add",
                    List.of("f32[]", "f32[5]", "f32[3,4]", "f32[80000]", "f32[0,3]", "f32[2,3,4]", "f32[60000]"),
                    List.of("f32[]", "f32[5]", "f32[3,4]", "f32[80000]", "f32[0,3]", "f32[2,3,4]", "f32[60000]")),
            new Case(
                    "all-gather",
                    GROUPS + ", dimensions={1}",
                    List.of("f32[4,2]", "s32[3,5]", "f32[2,1,3]", "f32[300,300]", "s32[2,2]", "f32[1,7]"),
                    List.of("f32[4,6]", "s32[3,15]", "f32[2,3,3]", "f32[300,900]", "s32[2,6]", "f32[1,21]")),
            new Case(
                    "all-gather",
                    GROUPS + ", dimensions={0}",
                    List.of("f32[4,2]", "s32[3]", "f32[30000,3]"),
                    List.of("f32[12,2]", "s32[9]", "f32[90000,3]")),
            new Case(
                    "reduce-scatter",
                    GROUPS + ", dimensions={1}, to_apply=add",
                    List.of("f32[4,6]", "f32[5,3]", "f32[2,3,4]", "f32[300,300]"),
                    List.of("f32[4,2]", "f32[5,1]", "f32[2,1,4]", "f32[300,100]")),
            new Case(
                    "reduce-scatter",
                    GROUPS + ", dimensions={0}, to_apply=add",
                    List.of("f32[6]", "f32[90000]", "f32[9,2]"),
                    List.of("f32[2]", "f32[30000]", "f32[3,2]")));

    private static final Computation PROGRAM = HloReader.read("test", text()).entry();

    /** Of each case the results of one collective for all, then those of one for each. */
    private static String text() {
        StringBuilder text = new StringBuilder("""
                HloModule main

                add {
                  a = f32[] parameter(0)
                  b = f32[] parameter(1)
                  ROOT c = f32[] add(a, b)
                }

                ENTRY main {
                  x = f32[1] parameter(0)
                  one = f32[] reshape(x)
                """);
        List<String> types = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (int c = 0; c < CASES.size(); c++) {
            Case one = CASES.get(c);
            List<String> operands = new ArrayList<>();
            for (int i = 0; i < one.operands.size(); i++) {
                operands.add(operand(text, "v" + c + "." + i, one.operands.get(i)));
            }
            String many = "many" + c;
            line(text, many, "(" + String.join(", ", one.results) + ")", call(one, String.join(", ", operands)));
            for (int i = 0; i < one.operands.size(); i++) {
                String type = one.results.get(i);
                line(text, many + "." + i, type, "get-tuple-element(" + many + "), index=" + i);
                line(text, "own" + c + "." + i, type, call(one, operands.get(i)));
                names.add(many + "." + i);
                names.add("own" + c + "." + i);
                types.add(type);
                types.add(type);
            }
        }
        return text + "  ROOT out = (" + String.join(", ", types) + ") tuple(" + String.join(", ", names) + ")\n}\n";
    }

    private static void line(StringBuilder text, String name, String type, String call) {
        text.append("  ")
                .append(name)
                .append(" = ")
                .append(type)
                .append(' ')
                .append(call)
                .append('\n');
    }

    private static String call(Case one, String operands) {
        return one.name + "(" + operands + "), " + one.attributes;
    }

    /** Element i of device d is a third of i plus a seventh of x[d], rounded; of an integer, that rounded down. */
    private static String operand(StringBuilder text, String name, String type) {
        String floats = "f32" + type.substring(type.indexOf('['));
        long elements = dims(type).length == 0 ? 1 : Arrays.stream(dims(type)).reduce(1, (a, b) -> a * b);
        line(text, name + ".i", "f32[" + elements + "]", "iota(), iota_dimension=0");
        line(text, name + ".t", "f32[]", "constant(0.33333334)");
        line(text, name + ".ts", "f32[" + elements + "]", "broadcast(" + name + ".t), dimensions={}");
        line(text, name + ".x", "f32[" + elements + "]", "broadcast(one), dimensions={}");
        line(text, name + ".m", "f32[" + elements + "]", "multiply(" + name + ".i, " + name + ".ts)");
        line(text, name + ".a", "f32[" + elements + "]", "add(" + name + ".m, " + name + ".x)");
        line(text, name + ".r", floats, "reshape(" + name + ".a)");
        if (type.equals(floats)) {
            return name + ".r";
        }
        line(text, name, type, "convert(" + name + ".r)");
        return name;
    }

    private static long[] dims(String type) {
        String inside = type.substring(type.indexOf('[') + 1, type.length() - 1);
        return inside.isEmpty()
                ? new long[0]
                : Arrays.stream(inside.split(",")).mapToLong(Long::parseLong).toArray();
    }

    private static final ExecutionPlan PLAN = OneProgram.plan(PROGRAM, WORKERS, i -> i / 2 % WORKERS);

    @Test
    void operandsThatTravelTogetherGiveTheSameBits() {
        float[] x = {0.1f, 1000.7f, -3.3f};
        ClusterOptions options = ClusterOptions.of(TorchWorkerMain.class.getName());
        try (ProcessCluster processes = ProcessCluster.start("packed", options, WORKERS)) {
            Execution execution =
                    Execution.load(processes.cluster(), PLAN, new InitialState(1, Map.of()), Duration.ofMinutes(2));
            execution.feed(0, Literal.ofDoubles(X, new double[] {x[0], x[1], x[2]}));
            execution.run(0, 1, reports -> OneProgram.checkPeaks(PLAN, reports));
            int output = 0;
            for (Case one : CASES) {
                for (int i = 0; i < one.operands.size(); i++) {
                    double[] together = execution.output(output++).doubles();
                    double[] alone = execution.output(output++).doubles();
                    assertThat(together)
                            .as(one.name + " " + one.operands.get(i))
                            .isEqualTo(alone);
                    if (one.name.equals("all-reduce")) {
                        checkSums(together, x);
                    }
                }
            }
        }
    }

    private static void checkSums(double[] sums, float[] x) {
        for (int e = 0; e < sums.length; e += 977) {
            float third = e * 0.33333334f;
            float sum = (third + x[0]) + (third + x[1]) + (third + x[2]);
            assertThat((float) sums[e]).isEqualTo(sum);
        }
    }
}

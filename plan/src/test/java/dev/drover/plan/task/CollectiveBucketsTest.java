package dev.drover.plan.task;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class CollectiveBucketsTest {

    private static List<String> arranged(String body) {
        Computation from = HloReader.read("test", """
                HloModule test

                add {
                  a = f32[] parameter(0)
                  b = f32[] parameter(1)
                  ROOT c = f32[] add(a, b)
                }

                max {
                  a = f32[] parameter(0)
                  b = f32[] parameter(1)
                  ROOT c = f32[] maximum(a, b)
                }

                ENTRY main {
                """ + body + "}\n").entry();
        Computation arranged = CollectiveBuckets.arrange(from);
        assertThat(arranged.parameters().stream().map(Instruction::name).toList())
                .isEqualTo(from.parameters().stream().map(Instruction::name).toList());
        assertThat(arranged.root().operands().stream().map(Instruction::name).toList())
                .isEqualTo(
                        from.root().operands().stream().map(Instruction::name).toList());
        assertThat(CollectiveBuckets.arrange(from).toString()).isEqualTo(arranged.toString());
        return arranged.instructions().stream()
                .filter(i -> !i.op().opcode().equals("parameter") && i != arranged.root())
                .map(i -> i.name() + " = " + i.op().opcode()
                        + i.operands().stream().map(Instruction::name).collect(Collectors.joining(" ", "(", ")")))
                .toList();
    }

    private static String sum(String name, String operand, String shape) {
        return "  " + name + " = " + shape + " all-reduce(" + operand + "), replica_groups={{0,1}}, to_apply=add\n";
    }

    @Test
    void smallSumsThatNobodyWaitsForAreOne() {
        assertThat(arranged("""
                  x = f32[8] parameter(0)
                  g2 = f32[8] negate(x)
                  g1 = f32[8] exponential(x)
                """ + sum("s1", "g1", "f32[8]") + sum("s2", "g2", "f32[8]")
                        + "  ROOT t = (f32[8], f32[8]) tuple(s1, s2)\n"))
                .containsExactly(
                        "g2 = negate(x)",
                        "g1 = exponential(x)",
                        "all-reduce = all-reduce(g2 g1)",
                        "s2 = get-tuple-element(all-reduce)",
                        "s1 = get-tuple-element(all-reduce)");
    }

    @Test
    void largeSumsBeginWhereTheirOperandIsMade() {
        String shape = "f32[2097152]"; // a bucket each
        assertThat(arranged("""
                  x = f32[2097152] parameter(0)
                  g2 = f32[2097152] negate(x)
                  g1 = f32[2097152] exponential(x)
                """ + sum("s1", "g1", shape) + sum("s2", "g2", shape)
                        + "  ROOT t = (" + shape + ", " + shape + ") tuple(s1, s2)\n"))
                .containsExactly("g2 = negate(x)", "s2 = all-reduce(g2)", "g1 = exponential(x)", "s1 = all-reduce(g1)");
    }

    @Test
    void theFirstBucketIsSmallAndViewsMoveAlong() {
        assertThat(arranged("""
                  x = f32[524288] parameter(0)
                  g = f32[524288] negate(x)
                  h = f32[524288] exponential(x)
                  k = f32[524288] tanh(x)
                  flat = f32[1024,512] reshape(g)
                """ + sum("s", "flat", "f32[1024,512]") + sum("u", "h", "f32[524288]")
                        + sum("v", "k", "f32[524288]")
                        + "  ROOT t = (f32[1024,512], f32[524288], f32[524288]) tuple(s, u, v)\n"))
                .containsExactly(
                        "g = negate(x)",
                        "flat = reshape(g)",
                        "s = all-reduce(flat)",
                        "h = exponential(x)",
                        "k = tanh(x)",
                        "all-reduce = all-reduce(h k)",
                        "u = get-tuple-element(all-reduce)",
                        "v = get-tuple-element(all-reduce)");
    }

    /** What is used at once neither waits for others nor takes along what has time. */
    @Test
    void aSumThatIsWaitedForStaysAlone() {
        assertThat(arranged("""
                  x = f32[8] parameter(0)
                  g = f32[8] negate(x)
                """ + sum("s", "g", "f32[8]") + "  y = f32[8] exponential(x)\n" + sum("now", "y", "f32[8]")
                        + """
                  z = f32[8] tanh(now)
                  ROOT t = (f32[8], f32[8]) tuple(s, z)
                """))
                .containsExactly(
                        "g = negate(x)",
                        "y = exponential(x)",
                        "now = all-reduce(y)",
                        "z = tanh(now)",
                        "s = all-reduce(g)");
    }

    @Test
    void kindsAreNotMixed() {
        assertThat(arranged("""
                  x = f32[8] parameter(0)
                """ + sum("a", "x", "f32[8]") + """
                  b = f32[8] all-reduce(x), replica_groups={{0,1}}, to_apply=max
                  c = f32[8] all-reduce(x), replica_groups={{0},{1}}, to_apply=add
                  d = f32[4] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add
                  e = f32[16] all-gather(x), replica_groups={{0,1}}, dimensions={0}
                """ + sum("f", "x", "f32[8]")
                        + "  ROOT t = (f32[8], f32[8], f32[8], f32[4], f32[16], f32[8]) tuple(a, b, c, d, e, f)\n"))
                .contains(
                        "b = all-reduce(x)",
                        "c = all-reduce(x)",
                        "d = reduce-scatter(x)",
                        "e = all-gather(x)",
                        "all-reduce = all-reduce(x x)");
    }

    /** An early gather holds memory: it stays where it is, and is joined with what is gathered before its first use. */
    @Test
    void gathersStayAndAreJoined() {
        assertThat(arranged("""
                  x = f32[8] parameter(0)
                  w = f32[8] parameter(1)
                  y = f32[8] negate(x)
                  v = f32[16] all-gather(w), replica_groups={{0,1}}, dimensions={0}
                  u = f32[16] all-gather(y), replica_groups={{0,1}}, dimensions={0}
                  z = f32[16] add(v, u)
                  ROOT t = (f32[16]) tuple(z)
                """))
                .containsExactly(
                        "y = negate(x)",
                        "all-gather = all-gather(w y)",
                        "v = get-tuple-element(all-gather)",
                        "u = get-tuple-element(all-gather)",
                        "z = add(v u)");
    }

    @Test
    void aSumOfASumComesAfterIt() {
        assertThat(arranged("""
                  x = f32[8] parameter(0)
                """ + sum("a", "x", "f32[8]")
                        + "  b = f32[8] all-reduce(a), replica_groups={{0,1}}, to_apply=add\n"
                        + "  ROOT t = (f32[8], f32[8]) tuple(a, b)\n"))
                .containsExactly("a = all-reduce(x)", "b = all-reduce(a)");
    }
}

package dev.drover.ir.pass;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Graph.Alias;
import dev.drover.ir.text.HloPrinter;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import org.junit.jupiter.api.Test;

class GraphPassTest {
    /** Three turns of x = x * row(i), rows stacked in y; the row is written to a stack that is summed afterwards. */
    private static final String LOOP = """
            HloModule m
            add { a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT s = f32[] add(a, b) }
            row { table = f32[3,2] parameter(0)
              at = s32[] parameter(1)
              zero = s32[] constant(0)
              cut = f32[1,2] dynamic-slice(table, at, zero), dynamic_slice_sizes={1,2}
              ROOT flat = f32[2] reshape(cut) }
            condition { s = (s32[], f32[2], f32[3,2], f32[3,2]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              n = s32[] constant(3)
              ROOT more = pred[] compare(i, n), direction=LT }
            body { s = (s32[], f32[2], f32[3,2], f32[3,2]) parameter(0)
              i = s32[] get-tuple-element(s), index=0
              x = f32[2] get-tuple-element(s), index=1
              y = f32[3,2] get-tuple-element(s), index=2
              stack = f32[3,2] get-tuple-element(s), index=3
              r = f32[2] call(y, i), to_apply=row
              product = f32[2] multiply(x, r)
              as.row = f32[1,2] reshape(product)
              zero = s32[] constant(0)
              next.stack = f32[3,2] dynamic-update-slice(stack, as.row, i, zero)
              one = s32[] constant(1)
              next = s32[] add(i, one)
              ROOT t = (s32[], f32[2], f32[3,2], f32[3,2]) tuple(next, product, y, next.stack) }
            ENTRY main { x = f32[2] parameter(0)
              y = f32[3,2] parameter(1)
              zero = s32[] constant(0)
              none = f32[] constant(0)
              empty = f32[3,2] broadcast(none), dimensions={}
              start = (s32[], f32[2], f32[3,2], f32[3,2]) tuple(zero, x, y, empty)
              end = (s32[], f32[2], f32[3,2], f32[3,2]) while(start), condition=condition, body=body
              out = f32[2] get-tuple-element(end), index=1
              stack = f32[3,2] get-tuple-element(end), index=3
              middle = f32[1,2] slice(stack), slice={[1:2], [0:2]}
              dead = f32[2] negate(out)
              ROOT t = (f32[2], (f32[1,2], f32[3,2])) tuple(out, inner)
            }
            """.replace("  ROOT t = (f32[2], (f32[1,2], f32[3,2])) tuple(out, inner)", """
                      inner = (f32[1,2], f32[3,2]) tuple(middle, stack)
                      ROOT t = (f32[2], (f32[1,2], f32[3,2])) tuple(out, inner)""");

    private static Graph graph() {
        return HloReader.read("loop", LOOP);
    }

    private static List<Literal> arguments() {
        return List.of(
                Literal.ofDoubles(ArrayShape.of(DType.F32, 2), new double[] {1, 2}),
                Literal.ofDoubles(ArrayShape.of(DType.F32, 3, 2), new double[] {2, 3, 5, 7, 11, 13}));
    }

    private static void sameValue(Graph graph) {
        assertThat(Evaluator.evaluate(graph.entry(), arguments()))
                .isEqualTo(Evaluator.evaluate(graph().entry(), arguments()));
    }

    private static List<Value> leaves(Value value) {
        return value instanceof Value.Tuple tuple
                ? tuple.elements().stream()
                        .flatMap(element -> leaves(element).stream())
                        .toList()
                : List.of(value);
    }

    @Test
    void callsAreInlinedInsideOfLoopsToo() {
        Graph inlined = Flatten.run(graph(), 0);
        assertThat(HloPrinter.print(inlined))
                .doesNotContain(" call(")
                .contains("%cut = f32[1,2] dynamic-slice(%y, %i, ");
        assertThat(leaves(Evaluator.evaluate(inlined.entry(), arguments())))
                .isEqualTo(leaves(Evaluator.evaluate(graph().entry(), arguments())));
    }

    @Test
    void aLoopOfKnownLengthIsUnrolled() {
        Graph unrolled = UnrollLoops.run(graph(), 1000);
        assertThat(HloPrinter.print(unrolled))
                .doesNotContain("while(")
                .contains("%product.iter0 = f32[2] multiply(%x, %r.iter0)")
                .contains("%product.iter2 = f32[2] multiply(%product.iter1, %r.iter2)")
                .doesNotContain("iter3");
        sameValue(unrolled);
    }

    @Test
    void aLoopThatIsTooLargeOrOfUnknownLengthStays() {
        assertThat(HloPrinter.print(UnrollLoops.run(graph(), 30))).contains("while(");
        Graph unknown = HloReader.read(
                "loop",
                LOOP.replace("zero = s32[] constant(0)\n  none", "zero = s32[] convert(x0)\n  none")
                        .replace(
                                "y = f32[3,2] parameter(1)\n  zero",
                                "y = f32[3,2] parameter(1)\n  x0 = f32[] parameter(2)\n  zero"));
        assertThat(HloPrinter.print(UnrollLoops.run(unknown, 100_000))).contains("while(");
    }

    @Test
    void tuplesVanishAndDeadCodeToo() {
        Graph simple = SimplifyTuples.run(graph());
        assertThat(HloPrinter.print(simple)).doesNotContain("%dead").contains("while(%start)");
        sameValue(simple);
    }

    @Test
    void flatMeansOneTupleOfArrays() {
        Graph flat = Flatten.run(new Graph(
                "m", graph().entry(), List.of(new Alias(List.of(1, 1), 1, List.of(), true)), graph().attributes()));
        assertThat(flat.aliases()).containsExactly(new Alias(List.of(2), 1, List.of(), true));
        assertThat(HloPrinter.print(flat)).isEqualTo("""
                        HloModule m, input_output_alias={ {2}: (1, {}, must-alias) }, \
                        entry_computation_layout={(f32[2], f32[3,2])->(f32[2], f32[1,2], f32[3,2])}

                        ENTRY %main (x: f32[2], y: f32[3,2]) -> (f32[2], f32[1,2], f32[3,2]) {
                          %x = f32[2] parameter(0)
                          %y = f32[3,2] parameter(1)
                          %cut.iter0 = f32[1,2] slice(%y), slice={[0:1], [0:2]}
                          %flat.iter0 = f32[2] reshape(%cut.iter0)
                          %product.iter0 = f32[2] multiply(%x, %flat.iter0)
                          %as.row.iter0 = f32[1,2] reshape(%product.iter0)
                          %cut.iter1 = f32[1,2] slice(%y), slice={[1:2], [0:2]}
                          %flat.iter1 = f32[2] reshape(%cut.iter1)
                          %product.iter1 = f32[2] multiply(%product.iter0, %flat.iter1)
                          %as.row.iter1 = f32[1,2] reshape(%product.iter1)
                          %cut.iter2 = f32[1,2] slice(%y), slice={[2:3], [0:2]}
                          %flat.iter2 = f32[2] reshape(%cut.iter2)
                          %product.iter2 = f32[2] multiply(%product.iter1, %flat.iter2)
                          %as.row.iter2 = f32[1,2] reshape(%product.iter2)
                          %next.stack.iter2 = f32[3,2] concatenate(%as.row.iter0, %as.row.iter1, %as.row.iter2), dimensions={0}
                          ROOT %t = (f32[2], f32[1,2], f32[3,2]) tuple(%product.iter2, %as.row.iter1, %next.stack.iter2)
                        }
                        """);
        var nested = (dev.drover.ir.eval.Value.Tuple) Evaluator.evaluate(graph().entry(), arguments());
        var inner = (dev.drover.ir.eval.Value.Tuple) nested.elements().get(1);
        assertThat(((dev.drover.ir.eval.Value.Tuple) Evaluator.evaluate(flat.entry(), arguments())).elements())
                .containsExactly(
                        nested.elements().get(0),
                        inner.elements().get(0),
                        inner.elements().get(1));
    }

    @Test
    void aSliceAcrossAnUpdateStays() {
        Graph graph = HloReader.read("a", """
                HloModule m
                ENTRY e { x = f32[4] parameter(0)
                  y = f32[2] parameter(1)
                  one = s32[] constant(1)
                  u = f32[4] dynamic-update-slice(x, y, one)
                  across = f32[2] slice(u), slice={[0:2]}
                  apart = f32[1] slice(u), slice={[3:4]}
                  far = s32[] constant(9)
                  clamped = f32[2] dynamic-slice(u, far), dynamic_slice_sizes={2}
                  ROOT t = (f32[2], f32[1], f32[2]) tuple(across, apart, clamped) }
                """);
        assertThat(HloPrinter.print(FoldConstants.run(graph)))
                .contains("%across = f32[2] slice(%u)")
                .contains("%apart = f32[1] slice(%x), slice={[3:4]}")
                .contains("%clamped = f32[2] slice(%u), slice={[2:4]}");
    }

    @Test
    void updatesThatFillAnArrayAreSideBySide() {
        Graph graph = HloReader.read("a", """
                HloModule m
                ENTRY e { x = f32[5] parameter(0)
                  y = f32[2] parameter(1)
                  z = f32[3] parameter(2)
                  two = s32[] constant(2)
                  zero = s32[] constant(0)
                  over = f32[5] dynamic-update-slice(x, z, zero)
                  half = f32[5] dynamic-update-slice(x, z, two)
                  full = f32[5] dynamic-update-slice(half, y, zero)
                  clash = f32[5] dynamic-update-slice(over, z, two)
                  tail = f32[2] slice(full), slice={[3:5]}
                  across = f32[2] slice(full), slice={[1:3]}
                  ROOT t = (f32[5], f32[5], f32[2], f32[2]) tuple(full, clash, tail, across) }
                """);
        Graph after = FoldConstants.run(graph);
        assertThat(HloPrinter.print(after))
                .contains("%full = f32[5] concatenate(%y, %z), dimensions={0}")
                .contains("%clash = f32[5] dynamic-update-slice(%over, %z, %two)")
                .contains("%tail = f32[2] slice(%z), slice={[1:3]}")
                .contains("%across = f32[2] slice(%full), slice={[1:3]}");
        List<Literal> arguments = List.of(
                Literal.ofDoubles(ArrayShape.of(DType.F32, 5), new double[] {1, 2, 3, 4, 5}),
                Literal.ofDoubles(ArrayShape.of(DType.F32, 2), new double[] {6, 7}),
                Literal.ofDoubles(ArrayShape.of(DType.F32, 3), new double[] {8, 9, 10}));
        assertThat(Evaluator.evaluate(after.entry(), arguments))
                .isEqualTo(Evaluator.evaluate(graph.entry(), arguments));
    }

    @Test
    void devicesAreNotFolded() {
        Graph graph = HloReader.read("a", """
                HloModule m
                add { a = s32[] parameter(0)
                  b = s32[] parameter(1)
                  ROOT s = s32[] add(a, b) }
                ENTRY e { c = s32[] constant(2)
                  d = u32[] partition-id()
                  r = s32[] all-reduce(c), replica_groups={{0,1}}, to_apply=add
                  ROOT t = (u32[], s32[]) tuple(d, r) }
                """);
        assertThat(HloPrinter.print(FoldConstants.run(graph)))
                .contains("partition-id()")
                .contains("all-reduce(%c)");
    }

    @Test
    void marksBecomeAnnotations() {
        Graph graph = HloReader.read("a", """
                HloModule m
                ENTRY e { x = f32[4] parameter(0)
                  y = f32[4] add(x, x)
                  s = f32[4] custom-call(y), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
                  again = f32[4] custom-call(s), custom_call_target="Sharding", sharding={replicated}
                  ROOT z = f32[4] negate(again) }
                """);
        assertThat(HloPrinter.print(ShardingAnnotations.run(graph)))
                .contains("%y = f32[4] add(%x, %x), sharding={devices=[2]<=[2]}")
                .contains("%again = f32[4] copy(%y), sharding={replicated}")
                .contains("negate(%again)")
                .doesNotContain("custom-call");
    }
}

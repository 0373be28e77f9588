package dev.drover.planner.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.RandomStrategies;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ReferenceRun;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A branch whose tuples come from several stages, and a forward output that the backward pass reads. */
class BranchesInStagesTest {
    private static final String HLO = """
            HloModule branch

            add {
              a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT s = f32[] add(a, b)
            }

            first {
              pair = (f32[8,4], f32[4,4]) parameter(0)
              a = f32[8,4] get-tuple-element(pair), index=0
              w = f32[4,4] get-tuple-element(pair), index=1
              ROOT p = f32[8,4] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
            }

            second {
              pair = (f32[8,4], f32[8,4]) parameter(0)
              ROOT b = f32[8,4] get-tuple-element(pair), index=1
            }

            ENTRY main {
              w = f32[4,4] parameter(0)
              v = f32[4,4] parameter(1)
              x = f32[8,4] parameter(2)
              y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              z = f32[8,4] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              zero = f32[] constant(0)
              sum = f32[] reduce(y, zero), dimensions={0,1}, to_apply=add
              positive = pred[] compare(sum, zero), direction=GT
              one = (f32[8,4], f32[4,4]) tuple(z, v)
              two = (f32[8,4], f32[8,4]) tuple(x, y)
              chosen = f32[8,4] conditional(positive, one, two), true_computation=first, false_computation=second
              grad = f32[4,4] dot(x, chosen), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              next = f32[4,4] subtract(w, grad)
              grad2 = f32[4,4] dot(y, chosen), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              next2 = f32[4,4] subtract(v, grad2)
              ROOT out = (f32[4,4], f32[4,4], f32[]) tuple(next, next2, sum)
            }
            """;

    /** Made of parameters alone; its elements are used by two stages, and after the micro-batches. */
    private static final String ELEMENTS = """
            HloModule elements

            add {
              a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT s = f32[] add(a, b)
            }

            keep {
              pair = (f32[4,4], f32[4,4]) parameter(0)
              a = f32[4,4] get-tuple-element(pair), index=0
              b = f32[4,4] get-tuple-element(pair), index=1
              ROOT t = (f32[4,4], f32[4,4], f32[4,4]) tuple(a, b, b)
            }

            swap {
              pair = (f32[4,4], f32[4,4]) parameter(0)
              a = f32[4,4] get-tuple-element(pair), index=0
              b = f32[4,4] get-tuple-element(pair), index=1
              ROOT t = (f32[4,4], f32[4,4], f32[4,4]) tuple(b, a, a)
            }

            ENTRY main {
              w = f32[4,4] parameter(0)
              v = f32[4,4] parameter(1)
              x = f32[8,4] parameter(2)
              zero = f32[] constant(0)
              sum = f32[] reduce(w, zero), dimensions={0,1}, to_apply=add
              positive = pred[] compare(sum, zero), direction=GT
              pair = (f32[4,4], f32[4,4]) tuple(w, v)
              all = (f32[4,4], f32[4,4], f32[4,4]) conditional(positive, pair, pair), true_computation=swap, false_computation=keep
              first = f32[4,4] get-tuple-element(all), index=0
              second = f32[4,4] get-tuple-element(all), index=1
              last = f32[4,4] get-tuple-element(all), index=2
              y = f32[8,4] dot(x, first), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              z = f32[8,4] dot(y, second), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              loss = f32[] reduce(z, zero), dimensions={0,1}, to_apply=add
              grad = f32[4,4] dot(x, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              next = f32[4,4] subtract(last, grad)
              grad2 = f32[4,4] dot(y, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              next2 = f32[4,4] subtract(v, grad2)
              ROOT out = (f32[4,4], f32[4,4], f32[]) tuple(next, next2, loss)
            }
            """;

    private static TrainingStep step(String text) {
        return new TrainingStep(
                HloReader.read("branch.hlo", text),
                List.of(
                        new InputRole(InputRole.Kind.PARAMETER, "w"),
                        new InputRole(InputRole.Kind.PARAMETER, "v"),
                        new InputRole(InputRole.Kind.BATCH, "x")),
                List.of(OutputRole.update(0), OutputRole.update(1), OutputRole.METRIC));
    }

    @ParameterizedTest
    @CsvSource({"1,2", "1,4", "2,1", "2,2"})
    void equalsTheWholeStep(int stages, int devices) {
        assertEqual(step(HLO), stages, devices);
    }

    @ParameterizedTest
    @CsvSource({"1,2", "2,1", "2,2"})
    void elementsStandWhereTheirTupleIsMade(int stages, int devices) {
        assertEqual(step(ELEMENTS), stages, devices);
    }

    private static void assertEqual(TrainingStep step, int stages, int devices) {
        CutStep cut = PlanCompiler.cut(step, 1, stages);
        Mesh mesh = devices == 1 ? Mesh.of() : Mesh.of(devices);
        for (int seed = 0; seed < 6; seed++) {
            Random random = new Random(seed);
            List<Literal> inputs = new ArrayList<>();
            for (ArrayShape shape : step.inputShapes()) {
                double[] values = random.doubles(shape.elements())
                        .map(value -> value - 0.5)
                        .toArray();
                inputs.add(Literal.ofDoubles(shape, values));
            }
            ExecutionPlan plan = PlanCompiler.compile(
                    cut,
                    StagePlanner.plan(cut, stages).assignment(),
                    RandomStrategies.draw(cut.computation(), PlanCompiler.updatedParameters(cut), mesh, seed),
                    new Resharder(mesh, (kind, axis, bytes) -> bytes),
                    "1f1b");
            List<Value> whole = ((Value.Tuple) Evaluator.evaluate(step.graph().entry(), inputs)).elements();
            List<Literal> parts = ReferenceRun.run(plan, inputs, step.outputShapes());
            for (int i = 0; i < parts.size(); i++) {
                for (int k = 0; k < parts.get(i).size(); k++) {
                    assertThat(parts.get(i).asDouble(k))
                            .as("output %d, element %d, seed %d", i, k, seed)
                            .isCloseTo(whole.get(i).literal().asDouble(k), within(1e-4));
                }
            }
        }
    }
}

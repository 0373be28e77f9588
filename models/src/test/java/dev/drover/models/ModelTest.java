package dev.drover.models;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.grad.LearningRate;
import dev.drover.ir.grad.Sgd;
import dev.drover.ir.grad.TrainingSteps;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.text.GraphEquality;
import dev.drover.ir.text.HloPrinter;
import dev.drover.ir.text.HloReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ModelTest {
    private static final String TINY_GPT = "gpt:layers=2,hidden=8,heads=2,seq=5,batch=3,vocab=11";
    private static final String TINY_MOE =
            "moe:layers=2,hidden=8,heads=2,seq=6,batch=2,vocab=11,experts=3,capacityFactor=1";
    private static final String TINY_MLP = "mlp:layers=2,hidden=6,batch=5,features=4,classes=3";
    private static final String TINY_UNET = "unet:size=4,channels=2,width=4,levels=2,groups=2,batch=2";

    /** Each parameter is moved along a random direction; the loss must change as the gradient says. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                TINY_GPT,
                TINY_GPT + ",tied=false,activation=relu",
                TINY_MOE,
                TINY_MOE + ",groups=1,every=1,activation=silu",
                TINY_MLP,
                TINY_UNET
            })
    void gradientsAgreeWithFiniteDifferences(String name) {
        Model model = Zoo.parse(name + ",dtype=f64,optimizer=sgd,lr=1");
        ModelRun run = new ModelRun(model, 3);
        List<Literal> before = new ArrayList<>();
        for (int i = 0; i < run.state().size(); i++) {
            // Away from the symmetric start, where norms are ones and zeros and residuals small.
            InitialValue value = model.initialValues().get(i);
            boolean vector = value.distribution() instanceof Distribution.Constant;
            double shift = vector ? ((Distribution.Constant) value.distribution()).value() : 0;
            double[] noise = InitialValues.fill(
                            new InitialValue(value.name(), value.shape(), Distribution.normal(vector ? 0.2 : 0.4)), 11)
                    .doubles();
            for (int j = 0; j < noise.length; j++) {
                noise[j] += shift;
            }
            before.add(Literal.ofDoubles(value.shape(), noise));
        }
        run.state().clear();
        run.state().addAll(before);
        double loss = run.step();
        assertThat(loss).isEqualTo(run.forwardLoss(before));
        for (int i = 0; i < before.size(); i++) {
            Literal parameter = before.get(i);
            double[] direction = InitialValues.fill(
                            new InitialValue("direction" + i, parameter.shape(), Distribution.normal(1)), 5)
                    .doubles();
            double expected = 0;
            double length = 0;
            for (int j = 0; j < direction.length; j++) {
                double gradient = parameter.doubles()[j] - run.state().get(i).doubles()[j];
                expected += gradient * direction[j];
                length += Math.abs(gradient * direction[j]);
            }
            double step = 1e-5;
            double slope = (run.forwardLoss(moved(before, i, direction, step))
                            - run.forwardLoss(moved(before, i, direction, -step)))
                    / (2 * step);
            assertThat(slope)
                    .as(model.initialValues().get(i).name())
                    .isCloseTo(expected, Offset.offset(1e-7 + 1e-5 * length));
            assertThat(length).as(model.initialValues().get(i).name()).isPositive();
        }
    }

    private static List<Literal> moved(List<Literal> parameters, int index, double[] direction, double step) {
        List<Literal> out = new ArrayList<>(parameters);
        double[] values = parameters.get(index).doubles().clone();
        for (int j = 0; j < values.length; j++) {
            values[j] += step * direction[j];
        }
        out.set(index, Literal.ofDoubles(parameters.get(index).shape(), values));
        return out;
    }

    /** The layers' own gradients are those of their ops. */
    @ParameterizedTest
    @ValueSource(strings = {TINY_GPT, TINY_MOE, TINY_MLP + ",activation=silu", TINY_UNET})
    void layersHaveTheGradientsOfTheirOps(String name) {
        Model model = Zoo.parse(name + ",dtype=f64,optimizer=sgd,lr=1");
        TrainingStep plain =
                TrainingSteps.of(model.forward(), new TrainingSteps.Options(Sgd.plain(), LearningRate.constant(1)));
        assertThat(plain.inputs()).isEqualTo(model.step().inputs());
        assertThat(plain.outputs()).isEqualTo(model.step().outputs());
        ModelRun run = new ModelRun(model, 4);
        List<Literal> expected = run.outputs(model.step(), run.state());
        List<Literal> actual = run.outputs(plain, run.state());
        for (int i = 0; i < expected.size(); i++) {
            assertThat(actual.get(i).doubles())
                    .as(
                            i < model.initialValues().size()
                                    ? model.initialValues().get(i).name()
                                    : "loss")
                    .containsExactly(expected.get(i).doubles(), Offset.offset(1e-10));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {TINY_GPT + ",dtype=bf16", TINY_MOE, TINY_MLP, TINY_UNET})
    void stepsPrintAndReadBack(String name) {
        Graph graph = Zoo.parse(name).step().graph();
        String text = HloPrinter.print(graph);
        assertThat(GraphEquality.difference(graph, HloReader.read(name, text))).isNull();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                TINY_GPT + ",lr=0.02 | 40 | 0.5",
                TINY_GPT + ",lr=0.02,dtype=bf16,optimizer=adamw,clip=1 | 40 | 0.5",
                TINY_GPT + ",lr=0.01,dtype=f16,lossScale=1024,optimizer=nesterov,momentum=0.95 | 120 | 0.8",
                TINY_GPT + ",lr=0.03,warmup=5,decay=35 | 40 | 0.5",
                TINY_MOE + ",lr=0.02 | 40 | 0.6",
                TINY_MLP + ",lr=0.02 | 40 | 0.5",
                TINY_MLP + ",lr=0.05,optimizer=momentum | 40 | 0.5",
                TINY_UNET + ",lr=0.01 | 25 | 0.8"
            })
    void trainingMakesTheLossFall(String name, int steps, double part) {
        ModelRun run = new ModelRun(Zoo.parse(name), 1);
        double first = run.step();
        double last = first;
        for (int i = 1; i < steps; i++) {
            last = run.step();
        }
        assertThat(last).isBetween(0.0, first * part);
    }

    @ParameterizedTest
    @ValueSource(strings = {TINY_GPT, TINY_MOE, TINY_MLP, TINY_UNET})
    void stateIsUpdatedInPlaceAndTheLossComesLast(String name) {
        Model model = Zoo.parse(name);
        int states = model.initialValues().size();
        assertThat(model.step().outputs()).hasSize(states + 1);
        assertThat(model.step().loss()).isEqualTo(states);
        assertThat(model.step().graph().aliases()).hasSize(states);
        for (int i = 0; i < states; i++) {
            assertThat(model.step().outputs().get(i)).isEqualTo(OutputRole.update(i));
            assertThat(model.step().graph().aliases()).contains(new Graph.Alias(List.of(i), i, List.of(), false));
            assertThat(model.initialValues().get(i).name())
                    .isEqualTo(model.step().inputs().get(i).name());
            assertThat(model.initialValues().get(i).shape())
                    .isEqualTo(model.step().inputShapes().get(i));
        }
        int parameters = model.step().inputs(InputRole.Kind.PARAMETER).size();
        assertThat(model.step().inputs(InputRole.Kind.OPTIMIZER_STATE)).hasSize(2 * parameters);
        assertThat(model.step().inputs(InputRole.Kind.COUNTER)).hasSize(1);
        assertThat(model.step().inputs(InputRole.Kind.BATCH))
                .hasSize(model.batch().size());
        assertThat(model.forward().inputs()).hasSize(parameters + model.batch().size());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "gpt:layers=1,hidden=1,heads=1,seq=1,batch=1,vocab=1",
                "gpt:layers=1,hidden=2,heads=2,seq=2,batch=1,vocab=2,expand=1,tied=false",
                "moe:layers=1,every=1,hidden=2,heads=1,seq=1,batch=1,vocab=2,experts=2",
                "moe:layers=1,every=1,hidden=2,heads=1,seq=2,batch=2,vocab=2,experts=9,groups=1",
                "mlp:layers=1,hidden=1,batch=1,features=1,classes=1",
                "unet:size=1,channels=1,width=1,levels=1,groups=1,batch=1"
            })
    void theSmallestSizesWork(String name) {
        ModelRun run = new ModelRun(Zoo.parse(name), 1);
        run.step();
        assertThat(run.step()).isFinite();
        assertThat(run.state()).allMatch(value -> Arrays.stream(value.doubles()).allMatch(Double::isFinite));
    }

    @ParameterizedTest
    @ValueSource(strings = {TINY_GPT, TINY_MOE, TINY_MLP, TINY_UNET})
    void eachInstructionIsNeeded(String name) {
        Model model = Zoo.parse(name);
        List<List<Instruction>> users = model.step().graph().entry().users();
        for (Instruction instruction : model.step().graph().entry().instructions()) {
            assertThat(users.get(instruction.id()).isEmpty())
                    .as(instruction.toString())
                    .isEqualTo(instruction == model.step().graph().entry().root());
        }
    }

    /** Six flops per parameter and token, but for embeddings, normalizations and what attention adds. */
    @ParameterizedTest
    @CsvSource({"gpt, 'gpt:layers=3,hidden=64,heads=4,seq=16,batch=4,vocab=32,tied=false'"})
    void flopsAreSixPerParameterAndToken(String kind, String name) {
        Model model = Zoo.parse(name);
        long embeddings = (32 + 16) * 64;
        long norms = 7 * 2 * 64;
        double matrixFlops = 6.0 * (model.parameterCount() - embeddings - norms) * model.samples();
        double attentionFlops = 3 * 4.0 * 16 * 64 * 3 * model.samples();
        long dots = 0;
        long all = 0;
        for (Instruction instruction : model.step().graph().entry().instructions()) {
            long flops = instruction.op().flops(instruction.operandShapes(), instruction.shape());
            all += flops;
            dots += instruction.op().opcode().equals("dot") ? flops : 0;
        }
        assertThat((double) dots).isEqualTo(matrixFlops + attentionFlops);
        assertThat(all / (double) dots).isBetween(1.0, 1.2);
    }

    /** One step on the whole batch equals the mean of steps on its halves: needed for micro-batches. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "gpt:layers=1,hidden=8,heads=2,seq=4,vocab=7",
                "moe:layers=1,every=1,hidden=8,heads=2,seq=4,vocab=7,experts=2"
            })
    void lossIsAMeanOverTheBatch(String name) {
        Model whole = Zoo.parse(name + ",batch=2,dtype=f64");
        Model half = Zoo.parse(name + ",batch=1,dtype=f64");
        ModelRun wholeRun = new ModelRun(whole, 1);
        List<Literal> parameters = wholeRun.state()
                .subList(0, whole.step().inputs(InputRole.Kind.PARAMETER).size());
        ModelRun halfRun = new ModelRun(half, 1);
        double sum = 0;
        for (int row = 0; row < 2; row++) {
            for (int i = 0; i < 2; i++) {
                long[] tokens = Arrays.copyOfRange(wholeRun.batch().get(i).longs(), 4 * row, 4 * row + 4);
                halfRun.batch().set(i, Literal.ofLongs(half.batch().get(i).shape(), tokens));
            }
            sum += halfRun.forwardLoss(parameters);
        }
        assertThat(wholeRun.forwardLoss(parameters)).isCloseTo(sum / 2, Offset.offset(1e-12));
    }
}

package dev.drover.planner.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Instruction;
import dev.drover.models.Zoo;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Passes;
import dev.drover.plan.stage.TimeCut;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StageProgramTest {
    private static double weight(Instruction instruction) {
        return instruction.op().flops(instruction.operandShapes(), instruction.shape())
                + instruction.shape().leaves().get(0).elements();
    }

    private static StageGraph graph(String model, int pieces) {
        CutStep cut = TimeCut.cut(Zoo.parse(model).step(), 1, true);
        boolean[] free = FreeValues.of(cut.computation());
        double total = new StageGraph(cut, Passes.of(cut), free, StageProgramTest::weight, Double.POSITIVE_INFINITY)
                .totalWeight();
        return new StageGraph(cut, Passes.of(cut), free, StageProgramTest::weight, total / pieces);
    }

    /** The least bytes over cuts of all assignments along edges whose stages are not empty and not too heavy. */
    private static double bruteForce(StageGraph graph, int stages, double maxWeight) {
        int n = graph.nodes();
        double best = Double.POSITIVE_INFINITY;
        long all = Math.round(Math.pow(stages, n));
        int[] stageByNode = new int[n];
        for (long code = 0; code < all; code++) {
            long rest = code;
            boolean[] used = new boolean[stages];
            for (int i = 0; i < n; i++) {
                stageByNode[i] = (int) (rest % stages);
                used[stageByNode[i]] = true;
                rest /= stages;
            }
            boolean fits = StageCuts.maxWeight(graph, stageByNode, stages) <= maxWeight;
            for (int i = 0; i < n && fits; i++) {
                for (int to : graph.successors(i)) {
                    fits &= stageByNode[i] <= stageByNode[to];
                }
            }
            for (boolean stage : used) {
                fits &= stage;
            }
            if (fits) {
                best = Math.min(best, StageCuts.bytesOverCuts(graph, stageByNode));
            }
        }
        return best;
    }

    @ParameterizedTest
    @CsvSource({"2,0.3", "3,0.6", "2,0.05"})
    void findsTheOptimumOfSmallGraphs(int stages, double tolerance) {
        StageGraph graph = graph("gpt:layers=1,hidden=16,heads=2,seq=8,batch=2,vocab=16", 5);
        assertThat(graph.nodes()).isBetween(5, 13);
        double limit = graph.totalWeight() / stages * (1 + tolerance);
        double expected = bruteForce(graph, stages, limit);
        int[] found = new StageProgram(graph, stages, tolerance).solve(Duration.ofSeconds(20));
        if (Double.isInfinite(expected)) {
            assertThat(found).isNull();
            return;
        }
        assertThat(found).isNotNull();
        assertThat(StageCuts.bytesOverCuts(graph, found)).isLessThanOrEqualTo(expected * 1.006);
        assertThat(StageCuts.maxWeight(graph, found, stages)).isLessThanOrEqualTo(limit * (1 + 1e-6));
        int[] cut = StageCuts.solve(graph, stages, limit);
        if (cut != null) {
            assertThat(StageCuts.bytesOverCuts(graph, cut)).isGreaterThanOrEqualTo(expected * (1 - 1e-9));
        }
    }

    @Test
    void contractionKeepsTheWorkAndHasNoCycle() {
        StageGraph coarse = graph("gpt:layers=2,hidden=16,heads=2,seq=8,batch=2,vocab=16", 16);
        StageGraph whole = graph("gpt:layers=2,hidden=16,heads=2,seq=8,batch=2,vocab=16", 100_000);
        assertThat(coarse.totalWeight()).isEqualTo(whole.totalWeight());
        assertThat(coarse.nodes()).isLessThan(whole.nodes());
        assertThat(coarse.topologicalOrder()).hasSize(coarse.nodes());
    }

    @Test
    void stagesOfADeepModelBalance() {
        CutStep cut = TimeCut.cut(
                Zoo.parse("gpt:layers=8,hidden=32,heads=2,seq=16,batch=8,vocab=32")
                        .step(),
                4,
                true);
        StagePlanner.Found found = StagePlanner.plan(cut, 4);
        assertThat(found.heaviestShare()).isLessThan(1.17);
        assertThat(found.assignment().stageById()).contains(0, 1, 2, 3);
        assertThat(StagePlanner.plan(cut, 4).assignment()).isEqualTo(found.assignment());
    }
}

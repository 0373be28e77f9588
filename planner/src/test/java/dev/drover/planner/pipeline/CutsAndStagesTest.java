package dev.drover.planner.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Zoo;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.ScheduleKind;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.RandomStrategies;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Any cut along time with any stages, shardings and schedule makes an execution plan that keeps its contract (the builder checks it):
 * also a cut that is meant for several stages under an assignment to one, as tools compile it. Stages are drawn by giving every
 * instruction a weight by chance.
 */
class CutsAndStagesTest {
    private static final int ROUNDS = 25;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "moe:layers=2,hidden=16,seq=8,batch=8",
                "gpt:layers=2,hidden=16,heads=2,seq=8,batch=4,vocab=32",
                "unet:size=8,width=8,levels=2,batch=4"
            })
    void everyPlanKeepsItsContract(String model) {
        TrainingStep step = Flatten.run(Zoo.parse(model).step());
        Random random = new Random(Long.getLong("seed", 1));
        int made = 0;
        for (int round = 0; round < ROUNDS; round++) {
            int microBatches = 1 << random.nextInt(3);
            boolean joinLate = random.nextBoolean();
            int stages = 1 + random.nextInt(3);
            Mesh mesh = List.of(Mesh.of(), Mesh.of(2), Mesh.of(2, 2)).get(random.nextInt(3));
            ScheduleKind kind = Schedules.ALL.get(random.nextInt(Schedules.ALL.size()));
            boolean gatherPerPhase = random.nextBoolean();
            long seed = random.nextLong();
            CutStep cut;
            StageAssignment assignment;
            try {
                // Several stages need sums that are joined late; one stage takes either.
                cut = TimeCut.cut(step, microBatches, joinLate || stages > 1);
                assignment = stages(cut, stages, seed);
            } catch (UserError e) {
                continue;
            }
            made++;
            ShardingDecisions decisions =
                    RandomStrategies.draw(cut.computation(), PlanCompiler.updatedParameters(cut), mesh, seed);
            assertThatCode(() -> PlanCompiler.compile(
                            cut,
                            assignment,
                            decisions,
                            new Resharder(mesh, (collective, axis, bytes) -> 1000 + bytes),
                            kind.name(),
                            gatherPerPhase))
                    .as(
                            "round %d: %d micro-batches, joined late %s, %d stages, mesh %s, %s, gathered per phase %s",
                            round, microBatches, joinLate, stages, mesh, kind.name(), gatherPerPhase)
                    .doesNotThrowAnyException();
        }
        assertThat(made).isGreaterThan(ROUNDS / 4);
    }

    private static StageAssignment stages(CutStep cut, int stages, long seed) {
        double[] weights = new Random(seed).doubles(cut.computation().size()).toArray();
        return StagePlanner.plan(
                        cut,
                        stages,
                        instruction -> weights[instruction.id()],
                        new StagePlanner.Settings(0.3, Duration.ofSeconds(10)))
                .assignment();
    }
}

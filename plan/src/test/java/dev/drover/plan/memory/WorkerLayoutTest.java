package dev.drover.plan.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.ChainModel;
import dev.drover.plan.schedule.ScheduleKind;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.Lookahead;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class WorkerLayoutTest {
    private static final ArrayShape KIB = ArrayShape.of(DType.U8, 1024);

    private static ExecutionPlan chain(int microBatches, ScheduleKind kind) {
        CutStep cut = TimeCut.cut(ChainModel.step(3, 32, 8), microBatches, false);
        return ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut), StageAssignment.single(cut), kind.make(1, microBatches));
    }

    @Test
    void whatLivesTogetherDoesNotOverlap() {
        for (ScheduleKind kind : Schedules.ALL) {
            ExecutionPlan plan = chain(8, kind);
            for (WorkerPlan worker : plan.workers()) {
                WorkerLayout layout = WorkerLayout.of(plan, worker, DeviceMemory.ESTIMATE);
                check(layout.regions(), layout.totalBytes());
                assertThat(layout.bytesByKind().values().stream()
                                .mapToLong(Long::longValue)
                                .sum())
                        .isEqualTo(layout.totalBytes());
                for (long live : layout.liveBytesByTask()) {
                    assertThat(live).isLessThanOrEqualTo(layout.totalBytes());
                }
            }
        }
    }

    @Test
    void randomRegionsDoNotOverlapAndWasteLittle() {
        Random random = new Random(3);
        for (int round = 0; round < 50; round++) {
            List<Region> regions = new ArrayList<>();
            long[] live = new long[102];
            for (int i = 0; i < 60; i++) {
                int from = random.nextInt(100);
                int to = from + random.nextInt(100 - from);
                long bytes = 64L * random.nextInt(50);
                regions.add(new Region(
                        MemoryKind.ACTIVATIONS, "r" + i, 0, bytes, false, List.of(new Region.Life(from, to))));
                for (int t = from; t <= to; t++) {
                    live[t] += Region.aligned(bytes);
                }
            }
            List<Region> placed = Placement.place(regions);
            long total = placed.stream()
                    .mapToLong(r -> r.offsetBytes() + Region.aligned(r.sizeBytes()))
                    .max()
                    .orElse(0);
            check(placed, total);
            long peak = Arrays.stream(live).max().orElse(0);
            assertThat(total).isBetween(peak, peak + peak / 3);
        }
    }

    /** Frees one after the other are one turn; blocks by turns must lie apart where their tasks do not, and many be placed soon. */
    @Test
    void regionsThatDieByTurnsDoNotOverlap() {
        Random random = new Random(4);
        for (int count : new int[] {60, 6_000}) {
            List<Region> regions = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int from = 10 * random.nextInt(10);
                int to = from + 10 * random.nextInt(5) + random.nextInt(9);
                regions.add(new Region(
                        MemoryKind.ACTIVATIONS,
                        "r" + i,
                        0,
                        64L * (1 + random.nextInt(50)),
                        false,
                        List.of(new Region.Life(from, to))));
            }
            List<Region> placed = Placement.place(regions, task -> task / 10);
            long[] live = new long[160];
            for (Region region : regions) {
                for (int t = region.firstTask(); t <= region.lastTask(); t++) {
                    live[t] += region.sizeBytes();
                }
            }
            long peak = Arrays.stream(live).max().orElse(0);
            long total = placed.stream()
                    .mapToLong(r -> r.offsetBytes() + r.sizeBytes())
                    .max()
                    .orElse(0);
            assertThat(total).isBetween(peak, peak + peak / 3);
            List<Region> sorted = placed.stream()
                    .sorted(Comparator.comparingLong(Region::offsetBytes))
                    .toList();
            for (int i = 0; i < sorted.size(); i++) {
                Region a = sorted.get(i);
                for (int j = i + 1;
                        j < sorted.size() && sorted.get(j).offsetBytes() < a.offsetBytes() + a.sizeBytes();
                        j++) {
                    assertThat(a.overlaps(sorted.get(j)))
                            .as("%s and %s", a, sorted.get(j))
                            .isFalse();
                }
            }
        }
    }

    private static void check(List<Region> regions, long totalBytes) {
        for (int i = 0; i < regions.size(); i++) {
            Region a = regions.get(i);
            assertThat(a.offsetBytes() % Region.ALIGNMENT_BYTES).isZero();
            assertThat(a.offsetBytes() + a.sizeBytes()).isLessThanOrEqualTo(totalBytes);
            for (Region b : regions.subList(0, i)) {
                boolean apart = a.offsetBytes() + a.sizeBytes() <= b.offsetBytes()
                        || b.offsetBytes() + b.sizeBytes() <= a.offsetBytes();
                assertThat(apart || !a.overlaps(b)).as("%s and %s", a, b).isTrue();
            }
        }
    }

    /** Two received values are posted before the first task; the third takes the place of none of them. */
    @Test
    void receivesLiveFromWhenTheyArePosted() {
        List<Task> tasks = new ArrayList<>();
        for (int m = 0; m < 5; m++) {
            ValueRef value = new ValueRef("r" + m, false);
            tasks.add(new Task.Receive(value, KIB, -1, 1));
            tasks.add(new Task.Free(value, -1));
        }
        WorkerLayout layout = layout(tasks, List.of());
        assertThat(life(layout, "r0")).isEqualTo(new Region.Life(0, 1));
        assertThat(life(layout, "r1")).isEqualTo(new Region.Life(0, 3));
        assertThat(life(layout, "r2")).isEqualTo(new Region.Life(0, 5));
        assertThat(life(layout, "r3")).isEqualTo(new Region.Life(2, 7));
        assertThat(layout.totalBytes()).isEqualTo((Lookahead.RECEIVES + 1) * 1024 + 64);
    }

    /** A sent value stays until the send before which it must have left, or to the end. */
    @Test
    void sentValuesLiveUntilTheyHaveLeft() {
        List<Task> tasks = new ArrayList<>();
        List<Feed> feeds = new ArrayList<>();
        for (int m = 0; m < 6; m++) {
            ValueRef value = new ValueRef("s" + m, false);
            feeds.add(new Feed(value, m, new TensorSlice(KIB, List.of()), false, null));
            tasks.add(new Task.Send(value, KIB, -1, 1));
            tasks.add(new Task.Free(value, -1));
        }
        WorkerLayout layout = layout(tasks, feeds);
        assertThat(life(layout, "s0")).isEqualTo(new Region.Life(0, 2 * Lookahead.SENDS));
        assertThat(life(layout, "s1")).isEqualTo(new Region.Life(2, 2 + 2 * Lookahead.SENDS));
        assertThat(life(layout, "s2")).isEqualTo(new Region.Life(4, 12));
    }

    private static WorkerLayout layout(List<Task> tasks, List<Feed> feeds) {
        WorkerPlan worker = new WorkerPlan(0, 0, List.of(0), feeds, tasks, List.of());
        return WorkerLayout.of(new ExecutionPlan(1, List.of(), List.of(worker)), worker, DeviceMemory.ESTIMATE);
    }

    private static Region.Life life(WorkerLayout layout, String name) {
        return layout.region(new ValueRef(name, false), -1).lives().get(0);
    }

    /** Workers that do the same share a layout; it must be the one that each has by itself. */
    @Test
    void sharedLayoutsAreThoseOfTheWorkers() {
        ExecutionPlan one = chain(4, Schedules.byName("1f1b"));
        WorkerPlan first = one.workers().get(0);
        List<WorkerPlan> workers = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            List<Feed> feeds = new ArrayList<>();
            for (Feed feed : first.feeds()) {
                feeds.add(new Feed(feed.value(), feed.input(), feed.slice(), feed.persistent() && rank < 3, null));
            }
            workers.add(new WorkerPlan(
                    rank,
                    0,
                    List.of(0, 1, 2, 3),
                    feeds,
                    first.tasks(),
                    rank == 1 ? first.fetches() : first.fetches().subList(0, 1)));
        }
        ExecutionPlan plan = new ExecutionPlan(4, one.programs(), workers);
        WorkerLayouts layouts = new WorkerLayouts(plan, DeviceMemory.ESTIMATE);
        for (WorkerPlan worker : workers) {
            WorkerLayout alone = WorkerLayout.of(plan, worker, DeviceMemory.ESTIMATE);
            assertThat(layouts.of(worker).regions()).isEqualTo(alone.regions());
        }
        assertThat(layouts.of(workers.get(0)))
                .isSameAs(layouts.of(workers.get(2)))
                .isNotSameAs(layouts.of(workers.get(1)))
                .isNotSameAs(layouts.of(workers.get(3)));
    }

    /** New state lies in the place of the old where the backend keeps the donation, else beside it. */
    @Test
    void donationsDecideWhetherStateExistsTwice() {
        ExecutionPlan plan = chain(1, Schedules.byName("gpipe"));
        WorkerPlan worker = plan.workers().get(0);
        long kept = WorkerLayout.of(plan, worker, DeviceMemory.ESTIMATE).totalBytes();
        DeviceMemory none = new DeviceMemory() {
            @Override
            public long sizeBytes(ArrayShape shape) {
                return shape.sizeBytes();
            }

            @Override
            public ProgramFootprint footprint(Program program, Map<Integer, Integer> donations, WorkerPlan owner) {
                long pool = program.phase() == Phase.POST ? 1 << 16 : 0;
                return new ProgramFootprint(pool, 128, Set.of());
            }
        };
        WorkerLayout layout = WorkerLayout.of(plan, worker, none);
        assertThat(kept).isPositive();
        assertThat(layout.bytesByKind().get(MemoryKind.TEMPORARIES)).isEqualTo(1 << 16);
        for (Task task : worker.tasks()) {
            if (task instanceof Task.Update update) {
                assertThat(layout.region(update.from(), -1).offsetBytes())
                        .isNotEqualTo(layout.region(update.state(), -1).offsetBytes());
            }
        }
    }
}

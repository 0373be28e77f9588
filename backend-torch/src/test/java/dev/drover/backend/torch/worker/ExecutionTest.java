package dev.drover.backend.torch.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.checkpoint.StoredState;
import dev.drover.runtime.coordinator.ClusterOptions;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.InitialState;
import dev.drover.testkit.ProcessCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A hand-made plan with everything that tasks can say, on four processes: two stages of two devices. The whole step, for x: f32[8,6], w:
 * f32[6], n: s32[] is
 *
 * <pre>
 *   y = x * w          stage 0, columns cut over its two devices, four micro-batches of two rows each
 *   r = sum(y, rows)   partial over the columns' devices: all-reduce
 *   loss = sum(r)      stage 1, accumulated over micro-batches
 *   rows = r           stage 1, stacked
 *   w' = w + loss      the loss goes back to stage 0
 * </pre>
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class ExecutionTest {

    private static final int MICRO_BATCHES = 4;
    private static final ArrayShape X = ArrayShape.of(DType.F32, 8, 6);
    private static final ArrayShape W = ArrayShape.of(DType.F32, 6);
    private static final ArrayShape R = ArrayShape.of(DType.F32, 2);
    private static final ArrayShape ROWS = ArrayShape.of(DType.F32, 8);
    private static final ArrayShape LOSS = ArrayShape.scalar(DType.F32);
    private static final long SEED = 5;

    private static Computation hlo(String text) {
        return HloReader.read("test", text).entry();
    }

    private static final Computation FORWARD = hlo("""
            HloModule forward

            add {
              a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT c = f32[] add(a, b)
            }

            ENTRY forward {
              x = f32[2,3] parameter(0)
              w = f32[3] parameter(1)
              wide = f32[2,3] broadcast(w), dimensions={1}
              y = f32[2,3] multiply(x, wide)
              zero = f32[] constant(0)
              part = f32[2] reduce(y, zero), dimensions={1}, to_apply=add
              r = f32[2] all-reduce(part), replica_groups={{0,1}}, to_apply=add
              ROOT out = (f32[2]) tuple(r)
            }
            """);
    private static final Computation LAST = hlo("""
            HloModule last

            add {
              a = f32[] parameter(0)
              b = f32[] parameter(1)
              ROOT c = f32[] add(a, b)
            }

            ENTRY last {
              r = f32[2] parameter(0)
              number = s32[] parameter(1)
              zero = f32[] constant(0)
              loss = f32[] reduce(r, zero), dimensions={0}, to_apply=add
              copied = f32[2] copy(r)
              index = f32[] convert(number)
              wide = f32[2] broadcast(index), dimensions={}
              numbered = f32[2] add(copied, wide)
              ROOT out = (f32[], f32[2]) tuple(loss, numbered)
            }
            """);
    private static final Computation UPDATE = hlo("""
            HloModule update

            ENTRY update {
              w = f32[3] parameter(0)
              loss = f32[] parameter(1)
              wide = f32[3] broadcast(loss), dimensions={}
              next = f32[3] add(w, wide)
              ROOT out = (f32[3]) tuple(next)
            }
            """);

    private static ValueRef each(String name) {
        return new ValueRef(name, true);
    }

    private static ValueRef once(String name) {
        return new ValueRef(name, false);
    }

    private static ExecutionPlan plan() {
        List<Program> programs = List.of(
                new Program(
                        "stage0.forward", 0, Phase.FORWARD, FORWARD, List.of(each("x"), once("w")), List.of(each("r"))),
                new Program(
                        "stage1.forward",
                        1,
                        Phase.FORWARD,
                        LAST,
                        List.of(each("r"), ValueRef.MICRO_BATCH_INDEX),
                        List.of(each("l"), each("rows"))),
                new Program(
                        "stage0.post",
                        0,
                        Phase.POST,
                        UPDATE,
                        List.of(once("w"), once("loss")),
                        List.of(once("w.new"))));
        List<WorkerPlan> workers = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            workers.add(rank < 2 ? first(rank) : second(rank));
        }
        return new ExecutionPlan(MICRO_BATCHES, programs, workers);
    }

    private static WorkerPlan first(int rank) {
        List<Task> tasks = new ArrayList<>();
        for (int m = 0; m < MICRO_BATCHES; m++) {
            tasks.add(new Task.Run(0, m));
            tasks.add(new Task.Free(each("x"), m));
            tasks.add(new Task.Send(each("r"), R, m, rank + 2));
            tasks.add(new Task.Free(each("r"), m));
        }
        tasks.add(new Task.Receive(once("loss"), LOSS, -1, rank + 2));
        tasks.add(new Task.Run(2, -1));
        tasks.add(new Task.Free(once("loss"), -1));
        tasks.add(new Task.Update(once("w.new"), once("w")));
        TensorSlice columns = new TensorSlice(X, List.of(new TensorSlice.Cut(1, 3, 2, rank)));
        TensorSlice mine = new TensorSlice(W, List.of(new TensorSlice.Cut(0, 3, 2, rank)));
        return new WorkerPlan(
                rank,
                0,
                List.of(0, 1),
                List.of(
                        new Feed(each("x"), 0, columns, false, new TensorSlice.Cut(0, 2, MICRO_BATCHES, 0)),
                        new Feed(once("w"), 1, mine, true, null)),
                tasks,
                List.of(new Fetch(once("w"), 0, mine)));
    }

    private static WorkerPlan second(int rank) {
        List<Task> tasks = new ArrayList<>();
        for (int m = 0; m < MICRO_BATCHES; m++) {
            tasks.add(new Task.Receive(each("r"), R, m, rank - 2));
            tasks.add(new Task.Run(1, m));
            tasks.add(new Task.Free(each("r"), m));
            tasks.add(new Task.Accumulate(each("l"), m, once("loss"), Reduction.SUM));
            tasks.add(new Task.Stack(each("rows"), m, once("all"), ROWS, 0, 2, MICRO_BATCHES));
        }
        tasks.add(new Task.Send(once("loss"), LOSS, -1, rank - 2));
        List<Fetch> fetches = rank == 2
                ? List.of(
                        new Fetch(once("loss"), 1, new TensorSlice(LOSS, List.of())),
                        new Fetch(once("all"), 2, new TensorSlice(ROWS, List.of())))
                : List.of();
        if (rank == 3) {
            tasks.add(new Task.Free(once("loss"), -1));
            tasks.add(new Task.Free(once("all"), -1));
        }
        return new WorkerPlan(rank, 1, List.of(2, 3), List.of(), tasks, fetches);
    }

    @Test
    void aHandMadePlanRunsStepAfterStep() throws IOException {
        Path checkpoints = Files.createDirectories(
                Path.of("target", "checkpoints-" + System.nanoTime()).toAbsolutePath());
        InitialValue rule = new InitialValue("w", W, Distribution.normal(1));
        InitialState initial = new InitialState(SEED, Map.of(1, rule));
        double[] w = InitialValues.fill(rule, SEED).doubles().clone();
        ClusterOptions options =
                ClusterOptions.of(TorchWorkerMain.class.getName()).withPieceBytes(16);
        try (ProcessCluster processes = ProcessCluster.start("execution", options, 4)) {
            Execution execution = Execution.load(processes.cluster(), plan(), initial, Duration.ofMinutes(2));
            assertThat(execution.state(1).doubles()).containsExactly(w);
            double[][] x = new double[3][];
            for (int step = 0; step < 3; step++) {
                x[step] = data(step);
                execution.feed(0, Literal.ofDoubles(X, x[step].clone()));
            }
            List<Double> losses = new ArrayList<>();
            execution.run(10, 3, reports -> {
                losses.add(Execution.scalar(reports, 1));
                for (WorkerPlan worker : plan().workers()) {
                    assertThat(reports.get(worker.rank()).peakBytes())
                            .isEqualTo(WorkerLayout.of(plan(), worker, new TorchDeviceMemory())
                                    .totalBytes());
                }
            });
            double[] rows = {};
            for (int step = 0; step < 3; step++) {
                rows = rows(x[step], w);
                double loss = 0;
                for (double row : rows) {
                    loss += row;
                }
                assertThat(losses.get(step)).isCloseTo(loss, within(1e-4));
                for (int i = 0; i < w.length; i++) {
                    w[i] += loss;
                }
            }
            for (int row = 0; row < rows.length; row++) {
                assertThat(execution.output(2).doubles()[row])
                        .isCloseTo(rows[row] + Math.floorDiv(row, 2), within(1e-4));
            }
            for (int i = 0; i < w.length; i++) {
                assertThat(execution.state(1).doubles()[i]).isCloseTo(w[i], within(1e-4));
                assertThat(execution.output(0).doubles()[i]).isCloseTo(w[i], within(1e-4));
            }
            Literal trained = execution.state(1);
            Path folder = execution.save(List.of("x", "w"), checkpoints, 13);
            execution.setState(1, Literal.zeros(W));
            assertThat(execution.state(1)).isEqualTo(Literal.zeros(W));
            StoredState stored = StoredState.open(checkpoints, Map.of("w", W));
            assertThat(stored.step()).isEqualTo(13);
            assertThat(stored.hasChecksums()).isTrue();
            execution.restore(List.of("x", "w"), stored);
            assertThat(folder).exists().hasParent(checkpoints);
            assertThat(execution.state(1)).isEqualTo(trained);
            // Something in the place of the next folder, which any user and system refuses.
            Files.writeString(checkpoints.resolve("step-000000014"), "no folder");
            assertThatThrownBy(() -> execution.save(List.of("x", "w"), checkpoints, 14))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining("The state of step 14 must be saved, but: The file (")
                    .hasMessageContaining("the checkpoints before it are whole");
            Files.createDirectories(checkpoints.resolve("step-000000015/rank-1.safetensors"));
            assertThatThrownBy(() -> execution.save(List.of("x", "w"), checkpoints, 15))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining("rank-1.safetensors");
            try (Stream<Path> left = Files.list(checkpoints.resolve("step-000000015"))) {
                assertThat(left).containsExactly(checkpoints.resolve("step-000000015/rank-1.safetensors"));
            }
            assertThat(StoredState.open(checkpoints, Map.of("w", W)).value("w")).isEqualTo(trained);
            assertThatThrownBy(() -> execution.run(13, 1, reports -> {}))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining("must be given for step 13");
        }
    }

    private static double[] data(int step) {
        double[] x = new double[48];
        for (int i = 0; i < x.length; i++) {
            x[i] = (i * 7 + step * 5) % 11 * 0.0625 - 0.25;
        }
        return x;
    }

    private static double[] rows(double[] x, double[] w) {
        double[] rows = new double[8];
        for (int row = 0; row < 8; row++) {
            for (int column = 0; column < 6; column++) {
                rows[row] += x[row * 6 + column] * w[column];
            }
        }
        return rows;
    }
}

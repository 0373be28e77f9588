package dev.drover.plan.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Copy;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.ChainModel;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.DeviceType;
import dev.drover.plan.cluster.Link;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.memory.Liveness;
import dev.drover.plan.memory.MemoryKind;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedule;
import dev.drover.plan.schedule.ScheduleKind;
import dev.drover.plan.schedule.ScheduleLength;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Passes;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SimulatorTest {
    private static final DeviceType DEVICE = new DeviceType("d", Map.of("f32", 1e12), 1, 1L << 30, 1e12, 0);

    /** Forward 1 ms, backward 2 ms, no per-step work. */
    private static final ProgramCost ONE_TWO = new ProgramCost() {
        @Override
        public ProgramTime time(Program program, List<Integer> meshRanks) {
            return new ProgramTime(
                    program.phase() == Phase.FORWARD ? 1_000_000 : program.phase() == Phase.BACKWARD ? 2_000_000 : 0,
                    0,
                    0);
        }

        @Override
        public long memoryNanos(int rank, long bytes) {
            return 0;
        }
    };

    private static Cluster cluster(int devices, double bytesPerSecond, long latencyNanos) {
        Link link = new Link(bytesPerSecond, latencyNanos, true);
        return Cluster.uniform("c", DEVICE, devices, 1, link, link);
    }

    /** A chain of equal layers, one per stage. */
    private static ExecutionPlan pipeline(int stages, int microBatches, ScheduleKind kind) {
        return pipeline(stages, microBatches, kind, 1);
    }

    private static ExecutionPlan pipeline(int stages, int microBatches, ScheduleKind kind, double hop) {
        CutStep cut = TimeCut.cut(ChainModel.step(stages, 32, 8), microBatches, true);
        Schedule schedule = kind.make(stages, microBatches);
        return ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                chainStages(cut, stages),
                schedule,
                ScheduleLength.Durations.uniform(stages, 1, 2, hop));
    }

    @ParameterizedTest
    @CsvSource({"1,1", "2,8", "4,16", "4,4", "3,2", "4,32"})
    void equalsTheClosedFormWithoutLatency(int stages, int microBatches) {
        for (ScheduleKind kind : Schedules.ALL) {
            SimulatedStep step =
                    Simulator.simulate(pipeline(stages, microBatches, kind), cluster(stages, 1e30, 0), ONE_TWO);
            assertThat(step.stepNanos())
                    .as(kind.name())
                    .isCloseTo(1e6 * kind.closedFormLength(stages, microBatches, 1, 2), within(1.0));
            assertThat(step.computeNanos()).isCloseTo(3e6 * microBatches, within(1.0));
            for (DeviceTime device : step.devices()) {
                assertThat(device.computeNanos()
                                + device.collectiveNanos()
                                + device.pointToPointNanos()
                                + device.bubbleNanos())
                        .isCloseTo(step.stepNanos(), within(1.0));
            }
        }
    }

    /** Times are measured with all devices computing, so who computes alone is as much faster as there are devices to a processor. */
    @ParameterizedTest
    @CsvSource({"4,1,2,6", "4,1,1,3", "4,1,4,12", "2,8,1,24", "3,16,1,48"})
    void devicesThatShareProcessorsAreFasterTheFewerCompute(int stages, int microBatches, int processors, int millis) {
        Measured shared = new Measured(processors, new TreeMap<>());
        for (ScheduleKind kind : Schedules.ALL) {
            SimulatedStep step = Simulator.simulate(
                    pipeline(stages, microBatches, kind),
                    cluster(stages, 1e30, 0).withMeasured(shared),
                    ONE_TWO);
            assertThat(step.stepNanos()).as(kind.name()).isCloseTo(1e6 * millis, within(1.0));
            assertThat(step.processorNanos())
                    .isCloseTo(3e6 * microBatches * stages * Math.min(1.0, (double) processors / stages), within(1.0));
            SimulatedStep besideOthers = Simulator.simulate(
                    pipeline(stages, microBatches, kind),
                    cluster(stages, 1e30, 0).withMeasured(shared.withProcessor(0.75)),
                    ONE_TWO);
            assertThat(besideOthers.stepNanos()).isEqualTo(step.stepNanos());
            assertThat(besideOthers.processorNanos()).isCloseTo(0.75 * step.processorNanos(), within(1.0));
        }
    }

    /** Ada-Grouper's and AlpaComm's derived makespans: each hop takes 1 ms. */
    @ParameterizedTest
    @CsvSource({"1f1b,4,32,157", "kfkb:2,4,32,111", "kfkb:4,4,32,111", "eager-1f1b,4,32,111", "eager-1f1b,2,32,101"})
    void equalsTheDerivedMakespansWithSlowLinks(String name, int stages, int microBatches, double expected) {
        SimulatedStep step = Simulator.simulate(
                pipeline(stages, microBatches, Schedules.byName(name), 1), cluster(stages, 1e30, 1_000_000), ONE_TWO);
        // The derivation gives each link its own queue; here a device receives from all its neighbours in one.
        assertThat(step.stepNanos()).isBetween(1e6 * expected - 10, 1.1e6 * expected);
    }

    /** The default order of tasks is good for fast and slow links. */
    @Test
    void comesNearTheBestForAnyHop() {
        for (ScheduleKind kind : Schedules.ALL) {
            for (double hop : new double[] {0, 0.1, 0.5, 1}) {
                double best = ScheduleLength.of(
                                kind.make(4, 32), ScheduleLength.Durations.uniform(4, 1e6, 2e6, hop * 1e6))
                        .length();
                double nanos = Simulator.simulate(pipeline(4, 32, kind), cluster(4, 1e30, (long) (hop * 1e6)), ONE_TWO)
                        .stepNanos();
                assertThat(nanos).as("%s, hop %s", kind.name(), hop).isBetween(best - 10, 1.1 * best);
            }
        }
    }

    @Test
    void isMonotoneInBandwidthAndNeverBeatsTheCriticalPath() {
        for (ScheduleKind kind : Schedules.ALL) {
            ExecutionPlan plan = pipeline(4, 8, kind);
            double before = Double.POSITIVE_INFINITY;
            double atZeroLatency = ScheduleLength.of(kind.make(4, 8), ScheduleLength.Durations.uniform(4, 1e6, 2e6, 0))
                    .length();
            for (double bandwidth = 1e4; bandwidth < 1e10; bandwidth *= 3) {
                double nanos = Simulator.simulate(plan, cluster(4, bandwidth, 1000), ONE_TWO)
                        .stepNanos();
                assertThat(nanos).isLessThanOrEqualTo(before).isGreaterThan(atZeroLatency);
                before = nanos;
            }
        }
    }

    @Test
    void waitingForTransfersIsPointToPointTime() {
        SimulatedStep step =
                Simulator.simulate(pipeline(2, 8, Schedules.byName("1f1b")), cluster(2, 1e30, 1_000_000), ONE_TWO);
        assertThat(step.pointToPointNanos()).isGreaterThan(1e6);
        assertThat(step.spans()).anyMatch(s -> s.lane() == Span.Lane.SEND).anyMatch(s -> s.lane() == Span.Lane.RECEIVE);
    }

    @Test
    void schedulesDifferInMemoryAsTheyShould() {
        Cluster cluster = cluster(4, 1e12, 0);
        Map<String, Long> peakByName = new java.util.TreeMap<>();
        for (ScheduleKind kind : Schedules.ALL) {
            SimulatedStep step = Simulator.simulate(pipeline(4, 16, kind), cluster, ONE_TWO);
            MemoryUse first = step.memory().get(0);
            peakByName.put(kind.name(), first.peakBytes());
            assertThat(first.peakBytesByKind().values().stream()
                            .mapToLong(Long::longValue)
                            .sum())
                    .isEqualTo(first.peakBytes());
            assertThat(first.peakBytesByKind().get(MemoryKind.PARAMETERS)).isEqualTo(8 * 8 * 4L);
            assertThat(step.fits()).isTrue();
        }
        assertThat(peakByName.get("1f1b")).isLessThan(peakByName.get("kfkb:2"));
        assertThat(peakByName.get("kfkb:2")).isLessThan(peakByName.get("gpipe"));
        assertThat(peakByName.get("1f1b")).isLessThan(peakByName.get("eager-1f1b"));
    }

    @Test
    void tooLittleMemoryIsNamedByStageAndBytes() {
        Cluster cluster = cluster(2, 1e12, 0).withMemoryBytes(1000);
        SimulatedStep step = Simulator.simulate(pipeline(2, 4, Schedules.byName("gpipe")), cluster, ONE_TWO);
        assertThat(step.fits()).isFalse();
        assertThat(step.memoryProblems()).hasSize(2);
        assertThat(step.memoryProblems().get(0))
                .contains("of stage (0) must be at most 1000 B per device")
                .contains("are missing. It holds")
                .contains("activations");
    }

    @Test
    void traceIsJson() throws Exception {
        SimulatedStep step =
                Simulator.simulate(pipeline(2, 4, Schedules.byName("1f1b")), cluster(2, 1e9, 1000), ONE_TWO);
        StringWriter text = new StringWriter();
        ChromeTrace.write(step, text);
        JsonNode events = new ObjectMapper().readTree(text.toString()).get("traceEvents");
        long forwards = 0;
        for (JsonNode event : events) {
            forwards += event.get("name").asText().startsWith("stage0.forward m") ? 1 : 0;
        }
        assertThat(forwards).isEqualTo(4);
    }

    /** Rank 0 and 1 of one host send a megabyte each to ranks 2 and 3 of another at the same time. */
    @Test
    void transfersShareTheNetworkCard() {
        ArrayShape shape = ArrayShape.of(DType.U8, 1_000_000);
        ValueRef value = new ValueRef("x", false);
        List<WorkerPlan> workers = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            List<Feed> feeds =
                    rank < 2 ? List.of(new Feed(value, 0, new TensorSlice(shape, List.of()), false, null)) : List.of();
            Task task =
                    rank < 2 ? new Task.Send(value, shape, -1, rank + 2) : new Task.Receive(value, shape, -1, rank - 2);
            workers.add(new WorkerPlan(
                    rank, rank, List.of(rank), feeds, List.of(task, new Task.Free(value, -1)), List.of()));
        }
        ExecutionPlan plan = new ExecutionPlan(1, List.of(), workers);
        Link shared = new Link(1e9, 500, true);
        Link own = new Link(1e9, 500, false);
        assertThat(Simulator.simulate(plan, Cluster.uniform("c", DEVICE, 2, 2, shared, shared), ONE_TWO)
                        .stepNanos())
                .isCloseTo(2_000_500, within(1.0));
        assertThat(Simulator.simulate(plan, Cluster.uniform("c", DEVICE, 2, 2, own, own), ONE_TWO)
                        .stepNanos())
                .isCloseTo(1_000_500, within(1.0));
        assertThatThrownBy(() -> Simulator.simulate(plan, cluster(2, 1, 0), ONE_TWO))
                .hasMessageContaining("must be at most the 2 devices");
    }

    @Test
    void livenessCountsWhatIsAliveTogether() {
        ArrayShape kib = ArrayShape.of(DType.U8, 1024);
        ComputationBuilder builder = new ComputationBuilder("p");
        Instruction x = builder.add(new Parameter(0, kib), List.of(), "x", Map.of());
        Instruction a = builder.add(new Copy(), x);
        Instruction b = builder.add(new Copy(), a);
        Instruction c = builder.add(new Copy(), b);
        Computation computation = builder.build(builder.add(new Tuple(1), c));
        assertThat(Liveness.of(computation)).isEqualTo(new Liveness(2048));
    }

    /** The stages of a chain, one layer each: forward work by counting, all else where its values are. */
    /** Thousands of devices that do the same: neither a deep stack nor time that grows with their square. */
    @Test
    void manyDevicesTakeAStepAsLongAsOne() {
        int devices = 5_000;
        CutStep cut = TimeCut.cut(ChainModel.step(2, 32, 8), 4, true);
        Schedule schedule = Schedules.byName("1f1b").make(2, 4);
        LocalStep one = LocalStep.ofOneDevice(cut);
        Mesh mesh = Mesh.of(devices);
        Sharding whole = Sharding.replicated(mesh);
        LocalStep many = new LocalStep(
                cut,
                mesh,
                one.computation(),
                one.cutIdById(),
                Collections.nCopies(one.inputShardings().size(), whole),
                Collections.nCopies(one.outputShardings().size(), whole));
        List<SimulatedStep> steps = new ArrayList<>();
        for (LocalStep local : List.of(one, many)) {
            ExecutionPlan plan = ExecutionPlanBuilder.build(local, chainStages(cut, 2), schedule);
            steps.add(Simulator.simulate(plan, cluster(2 * local.mesh().devices(), 1e9, 1000), ONE_TWO));
        }
        assertThat(steps.get(1).stepNanos()).isEqualTo(steps.get(0).stepNanos());
        assertThat(steps.get(1).devices())
                .hasSize(2 * devices)
                .allSatisfy(device -> assertThat(device.computeNanos()).isCloseTo(12e6, within(1.0)));
    }

    private static StageAssignment chainStages(CutStep cut, int stages) {
        List<Phase> phases = Passes.of(cut);
        List<Integer> stageById = new ArrayList<>();
        int layer = -1;
        for (Instruction instruction : cut.computation().instructions()) {
            boolean dot = instruction.op().opcode().equals("dot");
            Phase phase = phases.get(instruction.id());
            if (instruction.op() instanceof Parameter) {
                stageById.add(instruction.id() < stages ? instruction.id() : 0);
            } else if (phase == Phase.FORWARD) {
                layer += dot ? 1 : 0;
                stageById.add(Math.max(0, layer));
            } else {
                int stage = phase == Phase.BACKWARD ? stages - 1 : 0;
                for (Instruction operand : instruction.operands()) {
                    int at = stageById.get(operand.id());
                    boolean output = operand.op().opcode().equals("tanh");
                    if (phase != Phase.BACKWARD) {
                        stage = Math.max(stage, at);
                    } else if (phases.get(operand.id()) == Phase.BACKWARD || output || isWeight(operand, stages)) {
                        stage = Math.min(stage, output && dot ? at + 1 : at);
                    }
                }
                boolean ofInput =
                        phase == Phase.BACKWARD && dot && instruction.operand(0).op() instanceof Parameter;
                stageById.add(ofInput ? 0 : stage);
            }
        }
        return StageAssignment.of(cut, stages, stageById);
    }

    private static boolean isWeight(Instruction operand, int stages) {
        return operand.op() instanceof Parameter && operand.id() < stages;
    }

    @Test
    void stepsOfOneStageHaveNoBubble() {
        TrainingStep chain = ChainModel.step(3, 8, 4);
        CutStep cut = TimeCut.cut(chain, 2, false);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StageAssignment.single(cut),
                Schedules.byName("gpipe").make(1, 2));
        SimulatedStep step = Simulator.simulate(plan, cluster(1, 1, 0), ONE_TWO);
        assertThat(step.stepNanos()).isEqualTo(6e6);
        assertThat(step.bubbleNanos()).isZero();
    }

    /** One micro-batch through two stages sends an activation and its gradient, one after the other. */
    @Test
    void aSenderComputesForItsMessages() {
        ProgramCost costly = new ProgramCost() {
            @Override
            public ProgramTime time(Program program, List<Integer> meshRanks) {
                return ONE_TWO.time(program, meshRanks);
            }

            @Override
            public long memoryNanos(int rank, long bytes) {
                return 0;
            }

            @Override
            public long sendNanos(long bytes) {
                return 100_000;
            }
        };
        ExecutionPlan plan = pipeline(2, 1, Schedules.byName("1f1b"));
        SimulatedStep free = Simulator.simulate(plan, cluster(2, 1e30, 0), ONE_TWO);
        SimulatedStep step = Simulator.simulate(plan, cluster(2, 1e30, 0), costly);
        assertThat(step.stepNanos()).isCloseTo(free.stepNanos() + 200_000, within(1.0));
        assertThat(step.devices())
                .allSatisfy(device -> assertThat(device.computeNanos()).isCloseTo(3e6 + 100_000, within(1.0)));
    }
}

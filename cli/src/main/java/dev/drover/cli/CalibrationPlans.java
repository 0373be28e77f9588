package dev.drover.cli;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.worker.InitialState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * What {@link RuntimeCalibration} lets workers do. A unit is some lines of HLO, each of which reads {@code IN}, what the line before has made;
 * {@code ROW} before an op says that it gives a row of the matrix, {@code AS f32[..]} that its result has another shape. {@code x} is the input, {@code zero} a scalar, {@code sum} a computation.
 */
record CalibrationPlans(int workers) {
    private static final Pattern OTHER_SHAPE = Pattern.compile("AS (\\S+) (.*)");
    /** Of groups of workers, in the place of {@code GROUPS}. */
    static final String ALL_REDUCE = "all-reduce(IN), channel_id=1, replica_groups={GROUPS}, to_apply=sum";

    private static final ValueRef X = new ValueRef("x", false);
    private static final ValueRef Y = new ValueRef("y", false);

    private static Computation computation(ArrayShape shape, List<String> unit, int count, int results) {
        StringBuilder text = new StringBuilder("HloModule calibration\n\nsum {\n  a = f32[] parameter(0)\n"
                + "  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\nENTRY main {\n  x = " + shape
                + " parameter(0)\n  zero = f32[] constant(0)\n");
        String last = "x";
        for (int i = 0; i < count * unit.size(); i++) {
            String line = unit.get(i % unit.size()).replace("IN", last);
            Matcher other = OTHER_SHAPE.matcher(line);
            String op = other.matches() ? other.group(2) : line;
            String shapeOfLine = shape.toString();
            if (other.matches()) {
                shapeOfLine = other.group(1);
            } else if (line.startsWith("ROW ")) {
                shapeOfLine = shape.withDims(new long[] {shape.dim(0)}).toString();
                op = line.substring(4);
            }
            text.append("  v")
                    .append(i)
                    .append(" = ")
                    .append(shapeOfLine)
                    .append(' ')
                    .append(op)
                    .append('\n');
            last = "v" + i;
        }
        List<String> made = new ArrayList<>(List.of(last));
        for (int i = 1; i < results; i++) {
            text.append("  r" + i + " = " + shape + " negate(" + last + ")\n");
            made.add("r" + i);
        }
        String shapes = String.join(", ", Collections.nCopies(results, shape.toString()));
        text.append("  ROOT out = (" + shapes + ") tuple(" + String.join(", ", made) + ")\n}\n");
        return HloReader.read("calibration", text).entry();
    }

    /** Worker r runs a program again and again, by itself, that holds unit r % n of n units; {@code repeats} say how often in a step. */
    ExecutionPlan repeated(List<UnitTimes.Unit> units, int[] repeats) {
        List<Program> programs = new ArrayList<>();
        for (UnitTimes.Unit unit : units) {
            Computation computation = computation(unit.shape(), unit.lines(), unit.count(), 1);
            programs.add(new Program(unit.name(), programs.size(), Phase.POST, computation, List.of(X), List.of(Y)));
        }
        List<WorkerPlan> all = new ArrayList<>();
        for (int rank = 0; rank < workers; rank++) {
            int unit = rank % units.size();
            List<Task> tasks = new ArrayList<>(Collections.nCopies(repeats[unit], new Task.Run(unit, -1)));
            tasks.add(new Task.Free(Y, -1));
            List<Feed> feeds = List.of(feed(unit, units.get(unit).shape()));
            all.add(new WorkerPlan(rank, unit, List.of(rank), feeds, tasks, List.of()));
        }
        return new ExecutionPlan(1, programs, all);
    }

    /** All workers, as one mesh, run a program that repeats a unit. */
    ExecutionPlan together(ArrayShape shape, List<String> unit, int count) {
        Computation computation = computation(shape, unit, count, 1);
        Program program = new Program("calibration", 0, Phase.POST, computation, List.of(X), List.of(Y));
        List<Integer> ranks = IntStream.range(0, workers).boxed().toList();
        List<Task> tasks = List.of(new Task.Run(0, -1), new Task.Free(Y, -1));
        List<WorkerPlan> all = ranks.stream()
                .map(rank -> new WorkerPlan(rank, 0, ranks, List.of(feed(0, shape)), tasks, List.of()))
                .toList();
        return new ExecutionPlan(1, List.of(program), all);
    }

    private static Feed feed(int input, ArrayShape shape) {
        return new Feed(X, input, new TensorSlice(shape, List.of()), true, null);
    }

    /** What the plans' inputs of these units hold. */
    static ModelInputs inputs(List<UnitTimes.Unit> units) {
        Map<Integer, InitialValue> values = new TreeMap<>();
        for (int i = 0; i < units.size(); i++) {
            values.put(i, value(units.get(i).shape()));
        }
        return new ModelInputs(new InitialState(0, values), Map.of(), Map.of(), "");
    }

    static ModelInputs input(ArrayShape shape) {
        return new ModelInputs(new InitialState(0, Map.of(0, value(shape))), Map.of(), Map.of(), "");
    }

    /** So that products stay as they are: numbers near 0 are slow. */
    private static InitialValue value(ArrayShape shape) {
        return new InitialValue("x", shape, new Distribution.Constant(1.0 / shape.dim(shape.rank() - 1)));
    }

    /**
     * Workers 2i and 2i + 1 take turns: who has the turn computes a unit from what came last, and sends its result, and others like it. Each has so many turns.
     */
    ExecutionPlan backAndForth(ArrayShape shape, List<String> unit, int turns, int messages) {
        Computation computation = computation(shape, unit, 1, messages);
        List<Program> programs = new ArrayList<>();
        for (int turn = 0; turn < 2 * turns; turn++) {
            ValueRef from = turn == 0 ? X : value(turn - 1, 0);
            List<ValueRef> made = new ArrayList<>();
            for (int m = 0; m < messages; m++) {
                made.add(value(turn, m));
            }
            programs.add(new Program("turn" + turn, turn % 2, Phase.POST, computation, List.of(from), made));
        }
        List<WorkerPlan> all = new ArrayList<>();
        for (int rank = 0; rank < workers; rank++) {
            int peer = rank ^ 1;
            List<Task> tasks = new ArrayList<>();
            List<Task> frees = new ArrayList<>();
            for (int turn = 0; turn < 2 * turns && peer < workers; turn++) {
                boolean own = turn % 2 == rank % 2;
                if (own) {
                    tasks.add(new Task.Run(turn, -1));
                }
                for (int m = 0; m < messages; m++) {
                    ValueRef value = value(turn, m);
                    tasks.add(own ? new Task.Send(value, shape, -1, peer) : new Task.Receive(value, shape, -1, peer));
                    frees.add(new Task.Free(value, -1));
                }
            }
            tasks.addAll(frees);
            all.add(new WorkerPlan(rank, rank % 2, List.of(rank), List.of(feed(0, shape)), tasks, List.of()));
        }
        return new ExecutionPlan(1, programs, all);
    }

    private static ValueRef value(int turn, int message) {
        return new ValueRef("v" + turn + "." + message, false);
    }
}

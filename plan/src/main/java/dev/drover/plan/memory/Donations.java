package dev.drover.plan.memory;

import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which outputs of programs may take over the memory of an input, so that parameters and optimizer state exist once:
 *
 * <pre>
 *   run update: w, dw -> w.new      w is not used by any later task,
 *   ..
 *   update w.new w                  .. and w.new takes its place
 * </pre>
 */
public final class Donations {
    private final List<Program> programs;
    private final Map<ValueRef, ValueRef> stateByNew = new HashMap<>();
    private final Map<Integer, Integer> runsByProgram = new HashMap<>();
    private final Map<Integer, Integer> lastRunByProgram = new HashMap<>();
    /** Position of the last task that reads a value on the compute lane. */
    private final Map<ValueRef, Integer> lastReadByValue = new HashMap<>();
    /** A send may still read the buffer when a later task runs. */
    private final Set<ValueRef> sent = new HashSet<>();

    /** Of a worker with these tasks. */
    public Donations(List<Program> programs, List<Task> tasks) {
        this.programs = programs;
        for (int at = 0; at < tasks.size(); at++) {
            Task task = tasks.get(at);
            if (task instanceof Task.Run run) {
                runsByProgram.merge(run.program(), 1, Integer::sum);
                lastRunByProgram.put(run.program(), at);
            } else if (task instanceof Task.Accumulate accumulate) {
                lastReadByValue.put(accumulate.from(), at);
            } else if (task instanceof Task.Stack stack) {
                lastReadByValue.put(stack.from(), at);
            } else if (task instanceof Task.Update update) {
                lastReadByValue.put(update.from(), at);
                stateByNew.put(update.from(), update.state());
            } else if (task instanceof Task.Send send) {
                sent.add(send.value());
            }
        }
        lastRunByProgram.forEach((program, at) -> {
            for (ValueRef input : programs.get(program).inputs()) {
                lastReadByValue.merge(input, at, Math::max);
            }
        });
    }

    /** By output of the program the input that it replaces. The program must run once per step. */
    public Map<Integer, Integer> of(int program) {
        Map<Integer, Integer> inputByOutput = new HashMap<>();
        if (runsByProgram.getOrDefault(program, 0) != 1) {
            return inputByOutput;
        }
        int runAt = lastRunByProgram.getOrDefault(program, -1);
        List<ValueRef> outputs = programs.get(program).outputs();
        List<ValueRef> inputs = programs.get(program).inputs();
        Map<ValueRef, Integer> inputByValue = new HashMap<>();
        Set<ValueRef> twice = new HashSet<>();
        for (int input = 0; input < inputs.size(); input++) {
            if (inputByValue.put(inputs.get(input), input) != null) {
                twice.add(inputs.get(input));
            }
        }
        for (int output = 0; output < outputs.size(); output++) {
            ValueRef state = stateByNew.get(outputs.get(output));
            Integer input = state == null ? null : inputByValue.get(state);
            if (state != null
                    && input != null
                    && !twice.contains(state)
                    && lastReadByValue.getOrDefault(state, -1) <= runAt
                    && !sent.contains(state)) {
                inputByOutput.put(output, input);
            }
        }
        return inputByOutput;
    }

    /**
     * By output of the program the state in whose place it can be written from the start, for states that are no input of the program and
     * are not read after it. The program must run once per step.
     */
    Map<Integer, ValueRef> places(int program) {
        Map<Integer, ValueRef> stateByOutput = new HashMap<>();
        int runAt = lastRunByProgram.getOrDefault(program, -1);
        List<ValueRef> outputs = programs.get(program).outputs();
        for (int output = 0; runsByProgram.getOrDefault(program, 0) == 1 && output < outputs.size(); output++) {
            ValueRef state = stateByNew.get(outputs.get(output));
            if (state != null && lastReadByValue.getOrDefault(state, -1) < runAt && !sent.contains(state)) {
                stateByOutput.put(output, state);
            }
        }
        return stateByOutput;
    }
}

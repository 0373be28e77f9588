package dev.drover.plan.memory;

import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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

    private Donations() {}

    /** By output of the program the input that it replaces. The program must run once per step. */
    public static Map<Integer, Integer> of(int program, List<Program> programs, List<Task> tasks) {
        Map<ValueRef, ValueRef> stateByNew = new HashMap<>();
        int runs = 0;
        int runAt = -1;
        for (int i = 0; i < tasks.size(); i++) {
            if (tasks.get(i) instanceof Task.Update update) {
                stateByNew.put(update.from(), update.state());
            } else if (tasks.get(i) instanceof Task.Run run && run.program() == program) {
                runs++;
                runAt = i;
            }
        }
        Map<Integer, Integer> inputByOutput = new HashMap<>();
        List<ValueRef> outputs = programs.get(program).outputs();
        for (int output = 0; runs == 1 && output < outputs.size(); output++) {
            ValueRef state = stateByNew.get(outputs.get(output));
            List<ValueRef> inputs = programs.get(program).inputs();
            int input = state == null ? -1 : inputs.indexOf(state);
            if (state != null
                    && input >= 0
                    && inputs.lastIndexOf(state) == input
                    && !isRead(state, tasks.subList(runAt + 1, tasks.size()), programs)
                    && !isSent(state, tasks)) {
                inputByOutput.put(output, input);
            }
        }
        return inputByOutput;
    }

    private static boolean isRead(ValueRef value, List<Task> tasks, List<Program> programs) {
        for (Task task : tasks) {
            boolean reads = task instanceof Task.Run run
                            && programs.get(run.program()).inputs().contains(value)
                    || task instanceof Task.Accumulate accumulate
                            && accumulate.from().equals(value)
                    || task instanceof Task.Stack stack && stack.from().equals(value)
                    || task instanceof Task.Update update && update.from().equals(value);
            if (reads) {
                return true;
            }
        }
        return false;
    }

    /** A send may still read the buffer when a later task runs. */
    private static boolean isSent(ValueRef value, List<Task> tasks) {
        return tasks.stream()
                .anyMatch(task -> task instanceof Task.Send send && send.value().equals(value));
    }
}

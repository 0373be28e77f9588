package dev.drover.ir.eval;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Evaluates a computation instruction by instruction, dropping each value after its last use. */
public final class Evaluator {
    private Evaluator() {}

    /** The value of a whole program's computation. */
    public static Value evaluate(Computation computation, List<? extends Value> arguments) {
        return run(computation, List.copyOf(arguments), new SingleDevice());
    }

    /** Where a frame stands among devices that run in step. */
    public interface Devices {
        int device();

        int devices();

        List<List<Value>> exchange(List<Value> mine);
    }

    private record SingleDevice() implements Devices {
        @Override
        public int device() {
            return 0;
        }

        @Override
        public int devices() {
            return 1;
        }

        @Override
        public List<List<Value>> exchange(List<Value> mine) {
            return List.of(mine);
        }
    }

    /** Evaluates a computation as one of several devices. */
    public static Value run(Computation computation, List<Value> arguments, Devices devices) {
        Frame frame = new Frame(arguments, devices);
        int[] lastUse = lastUses(computation);
        @Nullable Value[] values = new @Nullable Value[computation.size()];
        for (Instruction instruction : computation.instructions()) {
            List<Value> operands = new ArrayList<>(instruction.operands().size());
            for (Instruction operand : instruction.operands()) {
                Value value = values[operand.id()];
                if (value == null) {
                    throw new IllegalStateException("The value of (" + operand.name() + ") must be alive.");
                }
                operands.add(value);
            }
            values[instruction.id()] = instruction.op().evaluate(frame, instruction, operands);
            for (Instruction operand : instruction.operands()) {
                if (lastUse[operand.id()] == instruction.id()) {
                    values[operand.id()] = null;
                }
            }
        }
        Value result = values[computation.root().id()];
        if (result == null) {
            throw new IllegalStateException("The root of (" + computation.name() + ") must have a value.");
        }
        return result;
    }

    private static int[] lastUses(Computation computation) {
        int[] last = new int[computation.size()];
        for (Instruction instruction : computation.instructions()) {
            for (Instruction operand : instruction.operands()) {
                last[operand.id()] = instruction.id();
            }
        }
        last[computation.root().id()] = Integer.MAX_VALUE;
        return last;
    }

    private record Frame(List<Value> arguments, Devices devicesInStep) implements EvalContext {
        @Override
        public Value argument(int number) {
            return arguments.get(number);
        }

        @Override
        public Value call(Computation computation, List<Value> callArguments) {
            return run(computation, callArguments, devicesInStep);
        }

        @Override
        public int device() {
            return devicesInStep.device();
        }

        @Override
        public int devices() {
            return devicesInStep.devices();
        }

        @Override
        public List<List<Value>> exchange(List<Value> mine) {
            return devicesInStep.exchange(mine);
        }
    }
}

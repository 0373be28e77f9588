package dev.drover.plan.stage;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Constant;
import dev.drover.ir.ops.DynamicSlice;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Localizer;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.Reshape;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.sharding.AxisState;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.task.TensorSlice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes the cut program once the states of all values are known. */
final class TimeCutBuilder {
    private final TrainingStep step;
    private final Computation entry;
    private final TimeStates states;
    private final ComputationBuilder builder;
    private final List<CutStep.CutInput> inputs = new ArrayList<>();
    /** By id of the new computation: made for each micro-batch. */
    private final List<Boolean> perMicroBatch = new ArrayList<>();

    private final List<Integer> origins = new ArrayList<>();
    private int origin;

    private final @Nullable Instruction[] each;
    private final @Nullable Instruction[] once;
    private final @Nullable Instruction[] accumulated;
    private final Map<String, Instruction> piecesByValueAndCut = new HashMap<>();
    private @Nullable Instruction microBatchIndex;
    private @Nullable Instruction zero;

    TimeCutBuilder(TrainingStep step, TimeStates states) {
        this.step = step;
        this.entry = step.graph().entry();
        this.states = states;
        this.builder = new ComputationBuilder(entry.name());
        this.each = new @Nullable Instruction[entry.size()];
        this.once = new @Nullable Instruction[entry.size()];
        this.accumulated = new @Nullable Instruction[entry.size()];
    }

    CutStep build() {
        for (Instruction instruction : entry.instructions()) {
            if (instruction.op() instanceof Parameter parameter && !states.each(instruction.id())) {
                at(instruction);
                once[instruction.id()] = parameter(
                        instruction.name(), instruction.array(), new CutStep.CutInput(parameter.number(), null), false);
            }
        }
        for (Instruction instruction : entry.instructions()) {
            if (instruction == entry.root()) {
                continue;
            }
            if (states.each(instruction.id())) {
                at(instruction);
                each[instruction.id()] = makeEach(instruction);
            } else if (!states.afterAccumulation(instruction.id()) || !states.dataOnly(instruction.id())) {
                makeOnce(instruction);
            }
        }
        at(entry.root());
        List<Instruction> outputs = new ArrayList<>();
        for (Instruction output : entry.root().operands()) {
            at(output);
            outputs.add(complete(output));
        }
        at(entry.root());
        Instruction root = note(builder.add(entry.root().op(), outputs), false);
        return new Pruned(builder.build(root)).cutStep();
    }

    private void at(Instruction original) {
        origin = original.id();
    }

    private Instruction note(Instruction made, boolean eachMicroBatch) {
        while (origins.size() < builder.size()) {
            origins.add(origin);
            perMicroBatch.add(eachMicroBatch);
        }
        return made;
    }

    private Instruction parameter(String name, ArrayShape shape, CutStep.CutInput input, boolean eachMicroBatch) {
        inputs.add(input);
        return note(builder.parameter(name, shape), eachMicroBatch);
    }

    private Instruction microBatchIndex() {
        if (microBatchIndex == null) {
            microBatchIndex =
                    parameter("$microBatch", ArrayShape.scalar(DType.S32), CutStep.CutInput.MICRO_BATCH_INDEX, true);
        }
        return microBatchIndex;
    }

    private Instruction zero() {
        if (zero == null) {
            zero = note(builder.add(Constant.of(Literal.scalar(DType.S32, 0))), false);
        }
        return zero;
    }

    private Instruction makeEach(Instruction instruction) {
        if (instruction.op() instanceof Parameter parameter) {
            TensorSlice.Cut cut = cut(states.state(instruction.id()));
            if (cut == null) {
                cut = new TensorSlice.Cut(0, instruction.array().dim(0), 1, 0);
            }
            ArrayShape local =
                    instruction.array().withDim(cut.dim(), instruction.array().dim(cut.dim()) / cut.parts());
            return parameter(instruction.name(), local, new CutStep.CutInput(parameter.number(), cut), true);
        }
        List<Instruction> operands = new ArrayList<>();
        for (int k = 0; k < instruction.operands().size(); k++) {
            operands.add(operandOfEach(instruction, k));
        }
        int choice = states.choice(instruction.id());
        if (choice < 0 || instruction.op() instanceof GetTupleElement || states.parts() == 1) {
            return copy(instruction, operands, true);
        }
        return note(instruction.op().localize(new AlongTime(instruction, choice, operands)), true);
    }

    private Instruction operandOfEach(Instruction instruction, int operandIndex) {
        Instruction operand = instruction.operand(operandIndex);
        if (instruction.op() instanceof GetTupleElement) {
            return eachOf(operand);
        }
        if (states.each(operand.id()) && !states.takenWhole(instruction, operandIndex)) {
            return eachOf(operand);
        }
        AxisState needed = states.required(instruction, operandIndex);
        return needed instanceof AxisState.Cut wanted ? piece(operand, wanted) : whole(operand);
    }

    private Instruction copy(Instruction instruction, List<Instruction> operands, boolean eachMicroBatch) {
        return note(
                builder.add(instruction.op(), operands, instruction.name(), instruction.annotations()), eachMicroBatch);
    }

    private Instruction eachOf(Instruction instruction) {
        Instruction made = each[instruction.id()];
        if (made == null) {
            throw new IllegalStateException(
                    "The value (" + instruction.name() + ") must be made for each micro-batch.");
        }
        return made;
    }

    /** The complete value, made once, for uses after the micro-batches. */
    private Instruction complete(Instruction value) {
        if (!states.each(value.id())) {
            return whole(value);
        }
        Instruction made = accumulated[value.id()];
        if (made == null) {
            AxisState state = states.state(value.id());
            TensorSlice.Cut cut = cut(state);
            Instruction term = eachOf(value);
            if (cut == null) {
                Reduction reduction = state instanceof AxisState.Partial partial ? partial.reduction() : Reduction.SUM;
                made = builder.add(new Accumulate(reduction), term);
                // Of one micro-batch terms of devices are better added while the backward pass still computes.
                boolean total = reduction == Reduction.SUM && states.parts() > 1;
                made = total ? builder.add(new Total(), made) : made;
            } else {
                made = builder.add(new Stack(cut.dim(), cut.stride(), cut.parts()), term);
            }
            note(made, false);
            accumulated[value.id()] = made;
        }
        return made;
    }

    private Instruction makeOnce(Instruction instruction) {
        List<Instruction> operands = new ArrayList<>();
        for (Instruction operand : instruction.operands()) {
            operands.add(complete(operand));
        }
        Instruction made = once[instruction.id()];
        if (made == null) {
            at(instruction);
            made = copy(instruction, operands, false);
            once[instruction.id()] = made;
        }
        return made;
    }

    /**
     * The whole value, made once without waiting for the micro-batches: what it is anyway, or computed from the whole batch if it
     * depends on data only.
     */
    private Instruction whole(Instruction value) {
        Instruction made = once[value.id()];
        if (made != null) {
            return made;
        }
        int before = origin;
        at(value);
        if (value.op() instanceof Parameter parameter) {
            made = parameter(
                    value.name() + ".whole", value.array(), new CutStep.CutInput(parameter.number(), null), false);
        } else {
            List<Instruction> operands = new ArrayList<>();
            for (Instruction operand : value.operands()) {
                operands.add(whole(operand));
            }
            at(value);
            made = copy(value, operands, false);
        }
        once[value.id()] = made;
        origin = before;
        return made;
    }

    /**
     * A micro-batch's piece of a value that is made once: computed on the piece where its op has a factor for it (an iota, a
     * broadcast), else sliced.
     */
    private Instruction piece(Instruction value, AxisState.Cut wanted) {
        String key = value.id() + "/" + wanted.dim() + "/" + wanted.stride();
        Instruction made = piecesByValueAndCut.get(key);
        if (made != null) {
            return made;
        }
        if (!(value.op() instanceof Parameter)
                && !value.op().hasSideEffect()
                && !(value.op() instanceof GetTupleElement)) {
            OpShardings rule = states.rule(value);
            for (int f = 0; f < rule.rule().factors().size() && made == null; f++) {
                OpStrategy strategy = new OpStrategy(List.of(f));
                if (rule.rule().factors().get(f).cutsInto(states.parts())
                        && rule.rule().results().size() == 1
                        && rule.result(strategy, 0).axis(0).equals(wanted)) {
                    made = computedPiece(value, rule, f);
                }
            }
        }
        if (made == null) {
            made = slicedPiece(whole(value), wanted);
        }
        piecesByValueAndCut.put(key, made);
        return made;
    }

    private Instruction computedPiece(Instruction value, OpShardings rule, int factor) {
        List<Instruction> operands = new ArrayList<>();
        for (int k = 0; k < value.operands().size(); k++) {
            AxisState needed = rule.operand(new OpStrategy(List.of(factor)), k).axis(0);
            operands.add(needed instanceof AxisState.Cut cut ? piece(value.operand(k), cut) : whole(value.operand(k)));
        }
        if (states.parts() == 1) {
            return copy(value, operands, true);
        }
        return note(value.op().localize(new AlongTime(value, factor, operands)), true);
    }

    /** {@code dim} as (outer, parts, inner), sliced at the micro-batch's number, and flat again. */
    private Instruction slicedPiece(Instruction value, AxisState.Cut wanted) {
        int parts = states.parts();
        if (parts == 1) {
            return value;
        }
        long[] dims = value.array().dims();
        int rank = dims.length;
        long[] split = new long[rank + 2];
        long[] sizes = new long[rank + 2];
        int n = 0;
        for (int d = 0; d < rank; d++) {
            if (d == wanted.dim()) {
                split[n++] = dims[d] / (wanted.stride() * parts);
                split[n++] = parts;
                split[n++] = wanted.stride();
            } else {
                split[n++] = dims[d];
            }
        }
        System.arraycopy(split, 0, sizes, 0, n);
        sizes[wanted.dim() + 1] = 1;
        Instruction[] operands = new Instruction[rank + 3];
        Arrays.fill(operands, zero());
        operands[0] = note(builder.add(reshape(split), value), true);
        operands[wanted.dim() + 2] = microBatchIndex();
        Instruction slice = note(
                builder.add(new DynamicSlice(Arrays.stream(sizes).boxed().toList()), Arrays.asList(operands)), true);
        ArrayShape local = value.array().withDim(wanted.dim(), dims[wanted.dim()] / parts);
        return note(builder.add(reshape(local.dims()), slice), true);
    }

    private static Reshape reshape(long[] dims) {
        return new Reshape(Arrays.stream(dims).boxed().toList());
    }

    private TensorSlice.@Nullable Cut cut(AxisState state) {
        return state instanceof AxisState.Cut cut
                ? new TensorSlice.Cut(cut.dim(), cut.stride(), states.parts(), 0)
                : null;
    }

    /** One factor cut along time, at the micro-batch's number. */
    private final class AlongTime implements Localizer {
        private final Instruction whole;
        private final int factor;
        private final List<Instruction> operands;

        AlongTime(Instruction whole, int factor, List<Instruction> operands) {
            this.whole = whole;
            this.factor = factor;
            this.operands = List.copyOf(operands);
        }

        @Override
        public ComputationBuilder builder() {
            return builder;
        }

        @Override
        public List<Instruction> operands() {
            return operands;
        }

        @Override
        public Instruction whole() {
            return whole;
        }

        @Override
        public FactorRule rule() {
            return states.rule(whole).rule();
        }

        @Override
        public long parts(int asked) {
            return asked == factor ? states.parts() : 1;
        }

        @Override
        public Instruction partIndex(int asked) {
            return asked == factor ? microBatchIndex() : zero();
        }

        @Override
        public ArrayShape localResult(int leaf) {
            ArrayShape shape = whole.shape().leaves().get(leaf);
            List<List<Integer>> dims = rule().results().get(leaf);
            for (int d = 0; d < dims.size(); d++) {
                if (dims.get(d).contains(factor)) {
                    shape = shape.withDim(d, shape.dim(d) / states.parts());
                }
            }
            return shape;
        }
    }

    /** Leaves out what no output needs, and puts what is made once before or after the micro-batches. */
    private final class Pruned {
        private final Computation full;
        private final boolean[] needed;
        private final boolean[] neededByEach;

        Pruned(Computation full) {
            this.full = full;
            this.needed = new boolean[full.size()];
            this.neededByEach = new boolean[full.size()];
            needed[full.root().id()] = true;
            for (int id = full.size() - 1; id >= 0; id--) {
                Instruction instruction = full.instructions().get(id);
                needed[id] |= instruction.op() instanceof Parameter
                        || instruction.op().hasSideEffect();
                if (!needed[id]) {
                    continue;
                }
                for (Instruction operand : instruction.operands()) {
                    needed[operand.id()] = true;
                    neededByEach[operand.id()] |= perMicroBatch.get(id) || neededByEach[id];
                }
            }
        }

        private Phase phase(int id) {
            if (perMicroBatch.get(id)) {
                return Phase.FORWARD;
            }
            Instruction instruction = full.instructions().get(id);
            if (instruction.takesATuple()) {
                // Elements come with the tuple, also those that are needed later.
                return phase(instruction.operand(0).id());
            }
            boolean parameter = instruction.op() instanceof Parameter;
            return neededByEach[id] || parameter ? Phase.PRE : Phase.POST;
        }

        CutStep cutStep() {
            ComputationBuilder pruned = new ComputationBuilder(full.name());
            @Nullable Instruction[] made = new @Nullable Instruction[full.size()];
            List<Phase> phases = new ArrayList<>();
            List<Integer> prunedOrigins = new ArrayList<>();
            Instruction root = full.root();
            for (Instruction instruction : full.instructions()) {
                if (!needed[instruction.id()]) {
                    continue;
                }
                List<Instruction> operands = new ArrayList<>();
                for (Instruction operand : instruction.operands()) {
                    Instruction copied = made[operand.id()];
                    if (copied != null) {
                        operands.add(copied);
                    }
                }
                root = pruned.add(instruction.op(), operands, instruction.name(), instruction.annotations());
                made[instruction.id()] = root;
                phases.add(phase(instruction.id()));
                prunedOrigins.add(origins.get(instruction.id()));
            }
            return new CutStep(step, states.parts(), pruned.build(root), inputs, phases, prunedOrigins);
        }
    }
}

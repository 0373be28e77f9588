package dev.drover.importers.roles;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds roles from shapes, aliases and data flow; names are for people only and are never looked at.
 *
 * <ol>
 *   <li>outputs that update inputs: see {@link UpdatePairs};
 *   <li>the loss: of the float scalars that are left and depend on data that nothing updates, the one to which most trained inputs
 *       contribute smoothly (no comparison, no rounding on the way, so not an accuracy), among those the one to which the fewest
 *       others do (not a norm of the new parameters), then the one that uses most data (not a penalty without labels), then the one
 *       that takes the fewest instructions (not a norm of gradients, nor an exponential of the loss);
 *   <li>updated inputs: integer scalars count; unsigned ones of 2 or 4 elements are random keys; floats that the loss is made from
 *       are parameters; what is left is the optimizer's;
 *   <li>inputs that nothing updates: arrays are the batch, except random keys; scalars are something else, such as a learning rate.
 * </ol>
 */
public final class RoleFinder {
    private static final long LONGEST_KEY = 4;

    private final Graph graph;
    private final Computation entry;
    private final List<Instruction> parameters;
    private final int[] inputByOutput;
    private final boolean[] updated;
    private final boolean[] trained;

    private RoleFinder(Graph graph) {
        this.graph = graph;
        // Loops stay: nothing here needs to look into them.
        Graph flat = Flatten.run(graph, 0);
        this.entry = flat.entry();
        this.parameters = entry.parameters();
        for (Instruction input : parameters) {
            mustBeArray("input", input);
        }
        for (Instruction output : entry.root().operands()) {
            mustBeArray("output", output);
        }
        boolean[] mixing = DataFlow.mixing(entry);
        this.inputByOutput = UpdatePairs.find(entry, mixing, flat.aliases());
        this.updated = new boolean[parameters.size()];
        for (int input : inputByOutput) {
            if (input >= 0) {
                updated[input] = true;
            }
        }
        this.trained = trained(mixing);
    }

    private void mustBeArray(String what, Instruction instruction) {
        if (!(instruction.shape() instanceof ArrayShape)) {
            throw new UserError(
                    "The " + what + " (" + instruction.name() + ") of model (" + graph.name()
                            + ") must be an array, not " + instruction.shape() + ".",
                    "Maybe lower the step with one argument for each array, as JAX does.");
        }
    }

    /** The step with the roles that were found. Inputs and outputs must be arrays. */
    public static TrainingStep find(Graph graph) {
        return new RoleFinder(graph).find();
    }

    private TrainingStep find() {
        int loss = loss();
        boolean[] feedsLoss = feedsLoss(loss);
        List<String> names = names();
        List<InputRole> inputs = new ArrayList<>();
        for (int i = 0; i < updated.length; i++) {
            InputRole.Kind kind = kind(parameters.get(i), updated[i], feedsLoss);
            inputs.add(new InputRole(kind, names.get(i)));
        }
        List<OutputRole> outputs = new ArrayList<>();
        for (int i = 0; i < inputByOutput.length; i++) {
            outputs.add(
                    inputByOutput[i] >= 0
                            ? OutputRole.update(inputByOutput[i])
                            : i == loss ? OutputRole.LOSS : OutputRole.METRIC);
        }
        return new TrainingStep(graph, inputs, outputs);
    }

    /**
     * By input: an updated float that reaches, through ops that mix, at least half as many updates as the one that reaches most. A
     * parameter reaches the updates of all parameters by way of the loss, an optimizer's state only those of its own, elementwise.
     */
    private boolean[] trained(boolean[] mixing) {
        int[] reached = new int[updated.length];
        int most = 0;
        for (int output = 0; output < inputByOutput.length; output++) {
            if (inputByOutput[output] >= 0) {
                boolean[] needed = DataFlow.mixedAncestors(entry, entry.root().operand(output), mixing);
                for (int i = 0; i < reached.length; i++) {
                    Instruction input = parameters.get(i);
                    if (updated[i]
                            && needed[input.id()]
                            && input.array().dtype().isFloat()) {
                        most = Math.max(most, ++reached[i]);
                    }
                }
            }
        }
        boolean[] trained = new boolean[updated.length];
        for (int i = 0; i < trained.length; i++) {
            trained[i] = reached[i] > 0 && 2 * reached[i] >= most;
        }
        return trained;
    }

    /** How well an output serves as the loss; the greatest does best. */
    private record Candidate(int output, int trained, int otherState, int data, int instructions) {
        boolean isBetterThan(@Nullable Candidate other) {
            if (other == null || trained != other.trained) {
                return other == null || trained > other.trained;
            }
            if (otherState != other.otherState) {
                return otherState < other.otherState;
            }
            return data != other.data ? data > other.data : instructions < other.instructions;
        }
    }

    private int loss() {
        Candidate best = null;
        for (int i = 0; i < inputByOutput.length; i++) {
            Instruction output = entry.root().operand(i);
            if (inputByOutput[i] >= 0 || !isFloatScalar(output)) {
                continue;
            }
            boolean[] needed = DataFlow.ancestors(entry, output);
            boolean[] smooth = DataFlow.smoothAncestors(entry, output);
            int data = 0;
            int reached = 0;
            int otherState = 0;
            for (int p = 0; p < updated.length; p++) {
                int id = parameters.get(p).id();
                data += !updated[p] && needed[id] ? 1 : 0;
                reached += trained[p] && smooth[id] ? 1 : 0;
                otherState += updated[p] && !trained[p] && needed[id] ? 1 : 0;
            }
            Candidate candidate = new Candidate(i, reached, otherState, data, DataFlow.count(needed));
            if (data > 0 && reached > 0 && candidate.isBetterThan(best)) {
                best = candidate;
            }
        }
        return best == null ? -1 : best.output();
    }

    /** By instruction id; without a loss, what all outputs that update nothing are made from. */
    private boolean[] feedsLoss(int loss) {
        boolean[] feeds = new boolean[entry.size()];
        for (int i = 0; i < inputByOutput.length; i++) {
            if (loss < 0 ? inputByOutput[i] < 0 : i == loss) {
                boolean[] needed = DataFlow.ancestors(entry, entry.root().operand(i));
                for (int id = 0; id < feeds.length; id++) {
                    feeds[id] |= needed[id];
                }
            }
        }
        return feeds;
    }

    private static boolean isFloatScalar(Instruction instruction) {
        return instruction.shape() instanceof ArrayShape array && array.dtype().isFloat() && array.elements() == 1;
    }

    private static InputRole.Kind kind(Instruction input, boolean updated, boolean[] feedsLoss) {
        ArrayShape shape = input.array();
        boolean isScalar = shape.elements() == 1;
        boolean isInteger = !shape.dtype().isFloat() && !shape.dtype().isComplex();
        boolean isKey = (shape.dtype() == DType.U32 || shape.dtype() == DType.U64)
                && shape.rank() > 0
                && shape.elements() <= LONGEST_KEY;
        if (isKey) {
            return InputRole.Kind.RANDOM_KEY;
        }
        if (!updated) {
            return isScalar ? InputRole.Kind.OTHER : InputRole.Kind.BATCH;
        }
        if (isInteger) {
            return isScalar ? InputRole.Kind.COUNTER : InputRole.Kind.OPTIMIZER_STATE;
        }
        return feedsLoss[input.id()] ? InputRole.Kind.PARAMETER : InputRole.Kind.OPTIMIZER_STATE;
    }

    /** JAX's names of arguments where all inputs have one, else the instructions'. */
    private List<String> names() {
        List<String> names = new ArrayList<>();
        for (Instruction parameter : parameters) {
            String name = opName(parameter.annotations().get("metadata"));
            if (name == null) {
                return parameters.stream().map(Instruction::name).toList();
            }
            names.add(name);
        }
        Set<String> distinct = new HashSet<>(names);
        return distinct.size() == names.size()
                ? names
                : parameters.stream().map(Instruction::name).toList();
    }

    private static @Nullable String opName(@Nullable String metadata) {
        if (metadata == null) {
            return null;
        }
        String key = "op_name=\"";
        int from = metadata.indexOf(key);
        int to = from < 0 ? -1 : metadata.indexOf('"', from + key.length());
        return to < 0 ? null : metadata.substring(from + key.length(), to).replace("\\'", "'");
    }
}

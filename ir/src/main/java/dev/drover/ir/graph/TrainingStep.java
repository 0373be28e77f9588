package dev.drover.ir.graph;

import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A program that makes one step of training, with what its inputs and outputs are. Inputs are the array leaves of the entry's
 * parameters, in order; outputs those of its root.
 */
public record TrainingStep(Graph graph, List<InputRole> inputs, List<OutputRole> outputs) {

    public TrainingStep {
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        List<ArrayShape> inputShapes = inputShapes(graph);
        List<ArrayShape> outputShapes = outputShapes(graph);
        if (inputs.size() != inputShapes.size() || outputs.size() != outputShapes.size()) {
            throw new IllegalArgumentException("The roles (" + inputs.size() + " inputs, " + outputs.size()
                    + " outputs) of graph (" + graph.name() + ") must be " + inputShapes.size() + " and "
                    + outputShapes.size() + ".");
        }
        Set<Integer> updated = new HashSet<>();
        boolean loss = false;
        for (int i = 0; i < outputs.size(); i++) {
            OutputRole role = outputs.get(i);
            if (role.kind() == OutputRole.Kind.LOSS) {
                ArrayShape shape = outputShapes.get(i);
                if (loss || shape.rank() > 0 || !shape.dtype().isFloat()) {
                    throw new IllegalArgumentException("The loss (output " + i + ", " + shape + ") of graph ("
                            + graph.name() + ") must be the only one, and a scalar of a floating type.");
                }
                loss = true;
            }
            if (role.kind() != OutputRole.Kind.UPDATE) {
                continue;
            }
            if (role.input() >= inputs.size()
                    || !updated.add(role.input())
                    || !inputShapes.get(role.input()).equals(outputShapes.get(i))) {
                throw new IllegalArgumentException("The input (" + role.input() + ") that output (" + i
                        + ") updates must exist, have its shape and be updated once.");
            }
            if (inputs.get(role.input()).kind() == InputRole.Kind.BATCH) {
                throw new IllegalArgumentException("The input (" + role.input() + ", "
                        + inputs.get(role.input()).name() + ") that output (" + i + ") updates must not be a batch.");
            }
        }
    }

    /** The array leaves of the entry's parameters. */
    public List<ArrayShape> inputShapes() {
        return inputShapes(graph);
    }

    /** The array leaves of the entry's root. */
    public List<ArrayShape> outputShapes() {
        return outputShapes(graph);
    }

    /** Positions of the inputs of a kind. */
    public List<Integer> inputs(InputRole.Kind kind) {
        List<Integer> out = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            if (inputs.get(i).kind() == kind) {
                out.add(i);
            }
        }
        return out;
    }

    /** Position of the output that is the loss, or -1. */
    public int loss() {
        return outputs.indexOf(OutputRole.LOSS);
    }

    private static List<ArrayShape> inputShapes(Graph graph) {
        List<ArrayShape> out = new ArrayList<>();
        for (Instruction parameter : graph.entry().parameters()) {
            out.addAll(parameter.shape().leaves());
        }
        return out;
    }

    private static List<ArrayShape> outputShapes(Graph graph) {
        return graph.entry().root().shape().leaves();
    }

    /** By input: whether it lives on between steps, as parameters, optimizer state and whatever else is updated do. */
    public boolean[] stateByInput() {
        boolean[] state = new boolean[inputs().size()];
        for (int input = 0; input < state.length; input++) {
            InputRole.Kind kind = inputs().get(input).kind();
            state[input] = kind == InputRole.Kind.PARAMETER || kind == InputRole.Kind.OPTIMIZER_STATE;
        }
        for (OutputRole role : outputs()) {
            if (role.kind() == OutputRole.Kind.UPDATE) {
                state[role.input()] = true;
            }
        }
        return state;
    }
}

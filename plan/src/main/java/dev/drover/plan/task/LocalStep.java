package dev.drover.plan.task;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Total;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A cut step as each device of a mesh runs it: local shapes, collectives written out.
 *
 * @param mesh of every stage
 * @param computation parameters and root tuple as the cut step's, in local shapes
 * @param cutIdById by instruction id of {@code computation}: the instruction of the cut step that it was made for
 * @param inputShardings by parameter number, in units of the cut step's shapes
 * @param outputShardings by output; none partial
 */
public record LocalStep(
        CutStep cut,
        Mesh mesh,
        Computation computation,
        List<Integer> cutIdById,
        List<Sharding> inputShardings,
        List<Sharding> outputShardings) {
    public LocalStep {
        cutIdById = List.copyOf(cutIdById);
        inputShardings = List.copyOf(inputShardings);
        outputShardings = List.copyOf(outputShardings);
        if (cutIdById.size() != computation.size()
                || inputShardings.size() != cut.inputs().size()
                || outputShardings.size() != cut.step().outputs().size()) {
            throw new IllegalArgumentException("The lists of a local step (" + cutIdById.size() + ", "
                    + inputShardings.size() + ", " + outputShardings.size() + ") must fit its computation.");
        }
    }

    /**
     * By instruction id: what each program makes for itself. Free in the cut step, free here: stages were assigned by what is free there,
     * and local shapes may fall on the other side of a threshold.
     */
    public boolean[] freeValues() {
        boolean[] free = FreeValues.of(computation);
        boolean[] freeInCut = FreeValues.of(cut.computation());
        Set<Instruction> needed = new HashSet<>(computation.root().operands());
        for (Instruction instruction : computation.instructions()) {
            if (FreeValues.isTaskWork(instruction)) {
                needed.addAll(instruction.operands());
            }
        }
        for (Instruction instruction : computation.instructions()) {
            free[instruction.id()] |= freeInCut[cutIdById.get(instruction.id())]
                    && instruction.shape() instanceof ArrayShape
                    && !needed.contains(instruction);
        }
        return free;
    }

    /** Stages of one device each. */
    public static LocalStep ofOneDevice(CutStep cut) {
        Computation from = cut.computation();
        ComputationBuilder builder = new ComputationBuilder(from.name());
        List<Integer> ids = new ArrayList<>();
        List<Instruction> made = new ArrayList<>();
        for (Instruction instruction : from.instructions()) {
            List<Instruction> operands = instruction.operands().stream()
                    .map(operand -> made.get(operand.id()))
                    .toList();
            if (instruction.op() instanceof Total) {
                made.add(operands.get(0));
                continue;
            }
            made.add(builder.add(instruction.op(), operands, instruction.name(), instruction.annotations()));
            ids.add(instruction.id());
        }
        Mesh mesh = new Mesh(List.of());
        Sharding whole = Sharding.replicated(mesh);
        return new LocalStep(
                cut,
                mesh,
                builder.build(made.get(from.root().id())),
                ids,
                Collections.nCopies(cut.inputs().size(), whole),
                Collections.nCopies(cut.step().outputs().size(), whole));
    }
}

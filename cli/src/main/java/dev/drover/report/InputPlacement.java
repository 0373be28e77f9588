package dev.drover.report;

import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.stage.CutStep;
import java.util.ArrayList;
import java.util.List;

/**
 * Where an input of the step is kept.
 *
 * @param shape of one micro-batch where the input is cut along time
 * @param sharding as {@link Sharding#text}
 * @param deviceBytes what one device holds
 */
public record InputPlacement(String name, String role, String shape, int stage, String sharding, long deviceBytes) {

    /** Heads of {@link #rows}. */
    public static final List<String> HEADER = List.of("input", "role", "shape", "stage", "sharding", "per device");

    /** A row of a table for each input. */
    public static List<List<String>> rows(List<InputPlacement> inputs) {
        return inputs.stream()
                .map(input -> List.of(
                        input.name,
                        input.role,
                        input.shape,
                        String.valueOf(input.stage),
                        input.sharding,
                        MemoryUse.text(input.deviceBytes)))
                .toList();
    }

    /** What to know of the table, empty where there is one micro-batch. */
    public static String note(int microBatches) {
        return microBatches == 1
                ? ""
                : "Shapes and sizes of batch inputs are those of one of " + microBatches + " micro-batches.";
    }

    /** Of each input of the cut step, in order; the micro-batch number is left out. */
    public static List<InputPlacement> of(PlacedStep placed) {
        CutStep cut = placed.cut();
        List<InputPlacement> rows = new ArrayList<>();
        for (Instruction parameter : cut.computation().parameters()) {
            CutStep.CutInput from = cut.input(parameter.id());
            if (from == null || from.input() < 0) {
                continue;
            }
            Sharding sharding = placed.sharding(parameter);
            InputRole input = cut.step().inputs().get(from.input());
            rows.add(new InputPlacement(
                    input.name(),
                    input.kind().text(),
                    parameter.shape().toString(),
                    placed.assignment().stage(parameter.id()),
                    sharding.text(placed.mesh()),
                    sharding.localBytes(parameter.array(), placed.mesh())));
        }
        return rows;
    }
}

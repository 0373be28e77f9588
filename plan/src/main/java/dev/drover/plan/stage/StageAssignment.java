package dev.drover.plan.stage;

import java.util.Collections;
import java.util.List;

/**
 * Which stage runs each instruction of a {@link CutStep}, and in which phase.
 *
 * @param stageById by instruction id. A parameter that holds state stands on its owner's stage; other stages that use it receive it
 *     once per step. Batch parameters are fed to each stage that uses them, wherever they stand.
 * @param phaseById by instruction id; refines the cut step's
 */
public record StageAssignment(int stages, List<Integer> stageById, List<Phase> phaseById) {
    public StageAssignment {
        stageById = List.copyOf(stageById);
        phaseById = List.copyOf(phaseById);
    }

    /** All on one stage. */
    public static StageAssignment single(CutStep cut) {
        return new StageAssignment(1, Collections.nCopies(cut.computation().size(), 0), Passes.of(cut));
    }

    /** These stages, phases by {@link Passes}; checked. */
    public static StageAssignment of(CutStep cut, int stages, List<Integer> stageById) {
        StageAssignment assignment = new StageAssignment(stages, stageById, Passes.of(cut));
        StageChecker.check(cut, assignment);
        return assignment;
    }

    public int stage(int id) {
        return stageById.get(id);
    }

    public Phase phase(int id) {
        return phaseById.get(id);
    }
}

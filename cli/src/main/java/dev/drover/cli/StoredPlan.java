package dev.drover.cli;

import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sim.Simulator;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.text.Plan;
import dev.drover.planner.cost.MeshCollectives;
import dev.drover.planner.cost.ProgramRoofline;
import dev.drover.planner.search.Planned;

/** A plan that was read, with its model. */
record StoredPlan(Plan plan, LoadedModel model) {

    /** Compiles it and computes its costs anew. */
    Planned compiled() {
        return compiled(StepMemory.of(model.flat()));
    }

    /** @param memory of the step */
    Planned compiled(DeviceMemory memory) {
        Resharder resharder = new Resharder(plan.mesh(), new MeshCollectives(plan.cluster(), plan.mesh(), 0));
        ExecutionPlan execution = PlanCompiler.compile(model.flat(), plan, resharder);
        return new Planned(
                plan,
                execution,
                Simulator.simulate(execution, plan.cluster(), new ProgramRoofline(plan.cluster(), memory), memory));
    }
}

package dev.drover.planner.search;

import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.text.Plan;

/** A plan with what follows from it. */
public record Planned(Plan plan, ExecutionPlan execution, SimulatedStep simulated) {}

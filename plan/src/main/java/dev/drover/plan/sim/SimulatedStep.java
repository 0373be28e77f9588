package dev.drover.plan.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * What to expect of one step.
 *
 * @param stepNanos when the last device has ended
 * @param devices by rank
 * @param memory by rank
 * @param spans in order of their starts
 */
public record SimulatedStep(
        double stepNanos,
        List<DeviceTime> devices,
        List<MemoryUse> memory,
        List<Span> spans,
        List<Integer> stageByRank) {
    public SimulatedStep {
        devices = List.copyOf(devices);
        memory = List.copyOf(memory);
        spans = List.copyOf(spans);
        stageByRank = List.copyOf(stageByRank);
    }

    /** Mean over the devices. */
    public double computeNanos() {
        return mean(DeviceTime::computeNanos);
    }

    /** Mean over the devices. */
    public double collectiveNanos() {
        return mean(DeviceTime::collectiveNanos);
    }

    /** Mean over the devices. */
    public double pointToPointNanos() {
        return mean(DeviceTime::pointToPointNanos);
    }

    /** Mean over the devices. */
    public double bubbleNanos() {
        return mean(DeviceTime::bubbleNanos);
    }

    /** Of all devices together. */
    public double processorNanos() {
        return devices.stream().mapToDouble(DeviceTime::processorNanos).sum();
    }

    private double mean(ToDoubleFunction<DeviceTime> part) {
        return devices.stream().mapToDouble(part).average().orElse(0);
    }

    /** Whether every device's memory suffices. */
    public boolean fits() {
        return memory.stream().allMatch(MemoryUse::fits);
    }

    /** One sentence for each stage whose memory does not suffice, about its worst device. */
    public List<String> memoryProblems() {
        List<String> problems = new ArrayList<>();
        int stages = stageByRank.stream().max(Integer::compare).orElse(-1) + 1;
        for (int stage = 0; stage < stages; stage++) {
            MemoryUse worst = null;
            for (MemoryUse use : memory) {
                if (stageByRank.get(use.rank()) == stage && (worst == null || use.peakBytes() > worst.peakBytes())) {
                    worst = use;
                }
            }
            if (worst != null && !worst.fits()) {
                problems.add("The memory (" + MemoryUse.text(worst.peakBytes()) + ") of stage (" + stage
                        + ") must be at most " + MemoryUse.text(worst.limitBytes()) + " per device; "
                        + MemoryUse.text(worst.peakBytes() - worst.limitBytes()) + " are missing. It holds "
                        + worst.parts() + ".");
            }
        }
        return problems;
    }
}

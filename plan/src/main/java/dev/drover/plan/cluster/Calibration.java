package dev.drover.plan.cluster;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Measures this machine. The command line gives one that asks the backend that will really run. */
@FunctionalInterface
public interface Calibration {

    /** The figures. */
    Figures measure();

    /** Whether figures that were kept are as good as those that {@link #measure} would find now. */
    default boolean isComplete(Figures kept) {
        return true;
    }

    /**
     * What was measured.
     *
     * @param flopsPerSecondPerCoreByDType speed of a large matrix product on one core, must include f32
     * @param memoryBytes that all workers together may use
     * @param memoryBytesPerSecond of one core's copy, reading and writing counted
     * @param measured times while all workers are busy; {@link Measured#NONE} where only peaks were measured
     */
    record Figures(
            int cores,
            Map<String, Double> flopsPerSecondPerCoreByDType,
            long memoryBytes,
            double memoryBytesPerSecond,
            long opOverheadNanos,
            double loopbackBytesPerSecond,
            long loopbackLatencyNanos,
            Measured measured) {
        public Figures {
            flopsPerSecondPerCoreByDType = Collections.unmodifiableMap(new TreeMap<>(flopsPerSecondPerCoreByDType));
        }

        /** Where everything takes {@code factor} times as long. */
        public Figures stretched(double factor) {
            SortedMap<String, Double> flops = new TreeMap<>();
            flopsPerSecondPerCoreByDType.forEach((dtype, speed) -> flops.put(dtype, speed / factor));
            return new Figures(
                    cores,
                    flops,
                    memoryBytes,
                    memoryBytesPerSecond / factor,
                    Math.round(opOverheadNanos * factor),
                    loopbackBytesPerSecond / factor,
                    Math.round(loopbackLatencyNanos * factor),
                    measured.stretched(factor));
        }

        /** The same with another latency and other times. */
        public Figures with(long latencyNanos, Measured times) {
            return new Figures(
                    cores,
                    flopsPerSecondPerCoreByDType,
                    memoryBytes,
                    memoryBytesPerSecond,
                    opOverheadNanos,
                    loopbackBytesPerSecond,
                    latencyNanos,
                    times);
        }
    }
}

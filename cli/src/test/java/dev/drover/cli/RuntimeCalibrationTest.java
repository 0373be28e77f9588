package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.cluster.Calibration;
import dev.drover.plan.cluster.Measured;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class RuntimeCalibrationTest {
    @Test
    void whatWasMeasuredBesideOtherWorkServesWhileThereIsSome(@TempDir Path folder) {
        RuntimeCalibration calibration = new RuntimeCalibration(1, folder);
        assertThat(calibration.isComplete(figures(1.05), () -> 0.0)).isTrue();
        assertThat(calibration.isComplete(figures(2), () -> 0.0)).isFalse();
        assertThat(calibration.isComplete(figures(2), () -> 0.9)).isTrue();
    }

    @Test
    void figuresWithoutAMeshOfAPipelineAreNotComplete(@TempDir Path folder) {
        Calibration.Figures figures = figures(1);
        assertThat(new RuntimeCalibration(1, folder).isComplete(figures, () -> 0.0))
                .isTrue();
        assertThat(new RuntimeCalibration(4, folder).isComplete(figures, () -> 0.0))
                .isFalse();
    }

    /** Of one worker, whose computing took so many times its processor time. */
    private static Calibration.Figures figures(double delay) {
        SortedMap<String, SortedMap<Long, Double>> nanos = new TreeMap<>();
        nanos.put("convolution", new TreeMap<>(Map.of(1L, 1.0)));
        Measured measured = new Measured(0, nanos).withProcessor(1).withDelay(delay);
        return new Calibration.Figures(1, Map.of("f32", 1e9), 1L << 30, 1e9, 1, 1e9, 1, measured);
    }

    @Test
    @Timeout(180)
    void measuresThisMachine(@TempDir Path folder) {
        RuntimeCalibration calibration = new RuntimeCalibration(2, folder);
        Calibration.Figures figures = calibration.measure();
        assertThat(calibration.isComplete(figures, () -> 1.0)).isTrue();
        assertThat(figures.measured().delay()).isGreaterThan(0.5);
        // Whole steps take longer than their parts, but not another order of magnitude.
        assertThat(figures.measured().processorNanos(1000, 2)).isBetween(100.0, 2000.0);
        assertThat(figures.flopsPerSecondPerCoreByDType().get("f32")).isGreaterThan(1e7);
        assertThat(figures.memoryBytesPerSecond()).isGreaterThan(1e7);
        assertThat(figures.loopbackBytesPerSecond()).isGreaterThan(1e6);
        assertThat(figures.loopbackLatencyNanos()).isBetween(100L, 100_000_000L);
    }
}

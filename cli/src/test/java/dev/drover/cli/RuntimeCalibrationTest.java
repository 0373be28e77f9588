package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.cluster.Calibration;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class RuntimeCalibrationTest {
    @Test
    @Timeout(180)
    void measuresThisMachine(@TempDir Path folder) {
        RuntimeCalibration calibration = new RuntimeCalibration(2, folder);
        Calibration.Figures figures = calibration.measure();
        assertThat(calibration.isComplete(figures)).isTrue();
        // Whole steps take longer than their parts, but not another order of magnitude.
        assertThat(figures.measured().processorNanos(1000, 2)).isBetween(100.0, 2000.0);
        assertThat(figures.flopsPerSecondPerCoreByDType().get("f32")).isGreaterThan(1e7);
        assertThat(figures.memoryBytesPerSecond()).isGreaterThan(1e7);
        assertThat(figures.loopbackBytesPerSecond()).isGreaterThan(1e6);
        assertThat(figures.loopbackLatencyNanos()).isBetween(100L, 100_000_000L);
    }
}

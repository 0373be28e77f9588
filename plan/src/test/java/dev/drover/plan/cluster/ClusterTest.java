package dev.drover.plan.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.type.DType;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterTest {
    private static final Calibration FIXED = () -> new Calibration.Figures(
            2, Map.of("f32", 2e11, "bf16", 5e11), 16L << 30, 1e10, 2000, 3e9, 40_000, Measured.NONE);

    @Test
    void measuredTimesPrintAndParseBackAndAreNotAskedFor() {
        Cluster plain = Presets.parse("m8:1", FIXED);
        assertThat(ClusterText.print(plain)).doesNotContain("measured");
        Measured times =
                new Measured(2, new TreeMap<>(Map.of("dot", new TreeMap<>(Map.of(1024L, 500.0, 2048L, 900.0)))));
        Cluster measured = plain.withMeasured(times);
        assertThat(ClusterText.parse(ClusterText.print(measured), "printed")).isEqualTo(measured);
        String misspelt = ClusterText.print(measured).replace("processors", "procesors");
        assertThatThrownBy(() -> ClusterText.parse(misspelt, "misspelt"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("procesors")
                .hasMessageContaining("misspelt");
    }

    @Test
    void presetsPrintAndParseBack() {
        for (String name : Presets.NAMES) {
            Cluster cluster = Presets.parse(name + ":2", FIXED);
            String text = ClusterText.print(cluster);
            assertThat(ClusterText.parse(text, name)).isEqualTo(cluster);
            assertThat(ClusterText.print(ClusterText.parse(text, name))).isEqualTo(text);
        }
    }

    @Test
    void hostsAndLinks() {
        Cluster m8 = Presets.parse("m8:2", FIXED);
        assertThat(m8.devices()).isEqualTo(16);
        assertThat(m8.host(7)).isZero();
        assertThat(m8.host(8)).isEqualTo(1);
        assertThat(m8.link(0, 7)).isEqualTo(m8.intraHost());
        assertThat(m8.link(7, 8)).isEqualTo(m8.interHost());
        assertThat(m8.slowestLink(List.of(0, 1, 9))).isEqualTo(m8.interHost());
        assertThat(m8.deviceType(3).flopsPerSecond(DType.F32)).isEqualTo(15.6e12 * 0.9);
        assertThatThrownBy(() -> m8.host(16)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void localSharesTheMachine() {
        Cluster four = Presets.parse("local:4", FIXED);
        assertThat(four.devices()).isEqualTo(4);
        assertThat(four.deviceType(0).flopsPerSecond(DType.F32)).isEqualTo(1e11);
        assertThat(four.deviceType(0).memoryBytes()).isEqualTo(4L << 30);
    }

    @Test
    void unknownPresetNamesTheNearest() {
        assertThatThrownBy(() -> Presets.parse("m9:2", FIXED))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("Maybe write m8:2.");
        assertThatThrownBy(() -> Presets.parse("locl:2", FIXED)).hasMessageContaining("Maybe write local:2.");
        assertThatThrownBy(() -> Presets.parse("foo:2", FIXED)).hasMessageNotContaining("Maybe");
    }

    @Test
    void unknownKeyNamesTheNearest() {
        String text = ClusterText.print(Presets.parse("s1:2", FIXED)).replace("devicesPerHost", "devicesPerHosts");
        assertThatThrownBy(() -> ClusterText.parse(text, "c.yaml"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The key (hosts[0].devicesPerHosts) of cluster (c.yaml, line ")
                .hasMessageContaining("Maybe write devicesPerHost.");
    }

    @Test
    void wrongValuesAreRefused() {
        String good = ClusterText.print(Presets.parse("s1:2", FIXED));
        assertThatThrownBy(() -> ClusterText.parse(good.replace("count: 2", "count: 0"), "c.yaml"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("must be at least 1");
        assertThatThrownBy(() -> ClusterText.parse(good.replace("count: 2", "count: two"), "c.yaml"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("hosts[0].count (two) of cluster (c.yaml, line ");
        assertThatThrownBy(() -> ClusterText.parse(good.replace("  count: 2\n", ""), "c.yaml"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("count");
        assertThatThrownBy(() -> ClusterText.parse("", "c.yaml")).isInstanceOf(UserError.class);
        assertThatThrownBy(() -> ClusterText.parse(good.replace("usableShare: 0.9", "usableShare: 1.9"), "c"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The usableShare (1.9)");
    }

    @Test
    void measuresOnceAndKeepsIt(@TempDir Path folder) {
        AtomicInteger measured = new AtomicInteger();
        Calibration counting = () -> {
            measured.incrementAndGet();
            return FIXED.measure();
        };
        CachedCalibration cached = new CachedCalibration(folder.resolve("a/b.json"), counting, line -> {});
        assertThat(cached.measure()).isEqualTo(cached.measure()).isEqualTo(FIXED.measure());
        assertThat(measured).hasValue(1);
    }

    @Test
    void measuresAnewWhatIsNotComplete(@TempDir Path folder) {
        AtomicInteger measured = new AtomicInteger();
        Calibration asking = new Calibration() {
            @Override
            public Figures measure() {
                measured.incrementAndGet();
                return FIXED.measure();
            }

            @Override
            public boolean isComplete(Figures kept) {
                return measured.get() > 1;
            }
        };
        CachedCalibration cached = new CachedCalibration(folder.resolve("b.json"), asking, line -> {});
        for (int i = 0; i < 3; i++) {
            assertThat(cached.measure()).isEqualTo(FIXED.measure());
        }
        assertThat(measured).hasValue(2);
    }
}

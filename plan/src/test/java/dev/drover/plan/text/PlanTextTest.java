package dev.drover.plan.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.stage.Phase;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class PlanTextTest {
    private static final Plan PLAN = new Plan(
            Plan.VERSION,
            new Plan.ModelId("gpt:layers=2", "abc", 12),
            Presets.parse("m8:1", () -> {
                throw new AssertionError("m8 needs no calibration");
            }),
            2,
            Mesh.of(2, 2),
            4,
            "1f1b",
            true,
            List.of(new Plan.StageRun(0, Phase.PRE, 5), new Plan.StageRun(1, Phase.FORWARD, 7)),
            new TreeMap<>(Map.of("dot.1", "b -", "add", "+0 a")),
            new Plan.Prediction(
                    10, 6, 2, 1, 1, List.of(new Plan.DeviceMemory(0, 0, 7, new TreeMap<>(Map.of("parameters", 7L))))),
            new Plan.Certificate(10, 9, 0.1, false),
            List.of(new Plan.Candidate(1, "4", 1, "gpipe", 20, 9, "slower")));

    @Test
    void printsAndReadsBack() {
        String text = PlanText.print(PLAN);
        assertThat(PlanText.parse(text, "test")).isEqualTo(PLAN);
        assertThat(PlanText.print(PlanText.parse(text, "test"))).isEqualTo(text);
    }

    @Test
    void namesAxesThatCutNothing() {
        assertThat(PLAN.unusedAxes()).isEmpty();
        String second = PlanText.print(PLAN).replace("+0 a", "+0 -");
        assertThat(PlanText.parse(second, "test").unusedAxes()).containsExactly("y");
    }

    @Test
    void namesTheNearestKnownKey() {
        String text = PlanText.print(PLAN).replace("\"microBatches\"", "\"microBatchs\"");
        assertThatThrownBy(() -> PlanText.parse(text, "p.json"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("microBatchs")
                .hasMessageContaining("p.json")
                .hasMessageContaining("Maybe write microBatches.");
    }

    @Test
    void refusesTruncatedTextsAndOtherVersions() {
        String text = PlanText.print(PLAN);
        assertThatThrownBy(() -> PlanText.parse(text.substring(0, text.length() / 2), "p.json"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("line");
        String version = "\"version\" : " + Plan.VERSION;
        assertThatThrownBy(() -> PlanText.parse(text.replace(version, "\"version\" : 99"), "p.json"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("version (99)");
        // Another version may lack keys of this one, or have others.
        assertThatThrownBy(() -> PlanText.parse("{\"version\" : 1, \"other\" : 0}", "p.json"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("version (1)");
    }
}

package dev.drover.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.Planned;
import dev.drover.planner.search.SearchOptions;
import java.io.StringReader;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

class ReportPageTest {
    private static final String MODEL = "mlp:layers=3,hidden=16,batch=16";
    private static TrainingStep flat = step();
    private static String page = "";

    private static TrainingStep step() {
        Model model = Zoo.parse(MODEL);
        return Flatten.run(model.step());
    }

    @BeforeAll
    static void render() {
        flat = step();
        Planned planned = PlanSearch.search(
                flat,
                MODEL,
                Presets.parse("m8:1", () -> {
                    throw new AssertionError("m8 needs no calibration");
                }),
                DeviceMemory.ESTIMATE,
                new SearchOptions(2, List.of(4), 2, "1f1b", 30, 1),
                line -> {});
        TrainingRecord record = new TrainingRecord(
                "<model> & 'more'",
                "state/step-000000996",
                997,
                List.of(2.5, 2.0, Double.NaN, 1.5),
                List.of(12.0, 10.0, 11.0, 10.0),
                10,
                1600,
                "sample",
                9,
                List.of(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L));
        page = ReportPage.of(planned, flat, record);
    }

    @Test
    void nothingComesFromOutside() {
        assertThat(page)
                .doesNotContain("http:")
                .doesNotContain("https:")
                .doesNotContain("<script")
                .doesNotContain("<link")
                .doesNotContain("@import")
                .doesNotContain("url(")
                .doesNotContain("src=");
    }

    @Test
    void everyPartIsThere() {
        assertThat(page)
                .contains("2 stages of mesh", "Training", "Predicted time", "Timeline", "Memory", "Communication")
                .contains(
                        "Inputs",
                        "Candidates",
                        "measured peak",
                        "predicted",
                        "Graph and shardings",
                        "<summary>Backward");
        for (int device = 0; device < 8; device++) {
            assertThat(count(">device " + device + ", stage " + device / 4 + "<"))
                    .isEqualTo(2);
        }
        assertThat(count("class='forward'")).isEqualTo(16);
        assertThat(count("class=area")).isEqualTo(8);
        flat.inputs().forEach(input -> assertThat(page).contains("<td>" + input.name() + "<"));
    }

    @Test
    void figuresAreWellFormedAndFinite() throws Exception {
        Matcher figures = Pattern.compile("<svg.*?</svg>", Pattern.DOTALL).matcher(page);
        int count = 0;
        while (figures.find()) {
            String xml = figures.group().replaceAll("=([a-z0-9.-]+)(?=[ />])", "='$1'");
            DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
            assertThat(xml).doesNotContain("NaN").doesNotContain("Infinity");
            count++;
        }
        assertThat(count).isEqualTo(6);
    }

    /** A training that diverges at once still has a curve, if of one dot, and the page says from where on there is none. */
    @Test
    void whatIsNoNumberIsSaid() {
        String diverged = CurveFigure.of("Loss", 1, List.of(5.5, Double.NaN, Double.NaN), false, Double.NaN, "");
        assertThat(diverged)
                .contains("<circle ")
                .contains("Not a number from step 2.")
                .doesNotContain("<polyline");
        assertThat(CurveFigure.of("Loss", 7, List.of(Double.NaN, Double.POSITIVE_INFINITY), false, Double.NaN, ""))
                .contains("Loss", "Infinite or not a number from step 7.")
                .doesNotContain("<svg");
        assertThat(page).contains("Not a number at 1 step 999.");
        assertThat(CurveFigure.of("Loss", 1, List.of(), false, Double.NaN, "")).isEmpty();
    }

    /** The first step, which warms up, does not flatten the others. */
    @Test
    void whatIsFarAboveTheOthersIsCutOff() {
        String figure = CurveFigure.of("Time", 1, List.of(120.0, 10.0, 12.0, 11.0), true, 9, "predicted");
        assertThat(figure)
                .contains("Cut off at the top: step 1, 120.0.")
                .contains(">10</text>")
                .doesNotContain(">100</text>");
        assertThat(CurveFigure.of("Time", 1, List.of(20.0, 10.0, 12.0), true, Double.NaN, ""))
                .doesNotContain("Cut off");
    }

    @Test
    void ticksAreRound() {
        assertThat(Ticks.of(0, 20.06, 9).values()).containsExactly(0.0, 5.0, 10.0, 15.0, 20.0);
        Ticks small = Ticks.of(0, 0.0123, 5);
        assertThat(small.values().stream().map(small::text)).containsExactly("0.000", "0.005", "0.010");
        assertThat(Ticks.of(3, 3, 5).values()).isNotEmpty();
    }

    /** A training that goes on counts its steps from those of the checkpoint, in words and along the curves. */
    @Test
    void stepsGoOnFromTheCheckpoint() {
        assertThat(page).contains("in steps 997 to 1000 (resumed from state/step-000000996);");
        for (int step = 997; step <= 1000; step++) {
            assertThat(count("text-anchor=middle>" + step + "</text>")).isEqualTo(2);
        }
        assertThat(page).doesNotContain("text-anchor=middle>1</text>");
    }

    @Test
    void textIsEscaped() {
        assertThat(Html.table(List.of("a<b"), List.of(List.of("x & 'y'"))))
                .contains("<th>a&lt;b", "<td>x &amp; &#39;y&#39;");
    }

    private static int count(String part) {
        return page.split(Pattern.quote(part), -1).length - 1;
    }
}

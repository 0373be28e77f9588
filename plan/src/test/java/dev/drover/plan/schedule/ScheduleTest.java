package dev.drover.plan.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.UserError;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class ScheduleTest {

    static Stream<Arguments> kindsAndSizes() {
        List<Arguments> out = new ArrayList<>();
        for (ScheduleKind kind : Schedules.ALL) {
            for (int stages : new int[] {1, 2, 3, 4, 8}) {
                for (int microBatches : new int[] {1, 2, 3, 4, 7, 16, 32}) {
                    out.add(Arguments.of(kind, stages, microBatches));
                }
            }
        }
        return out.stream();
    }

    @ParameterizedTest
    @MethodSource("kindsAndSizes")
    void keepsTheContract(ScheduleKind kind, int stages, int microBatches) {
        Schedule schedule = kind.make(stages, microBatches); // the record checks order, completeness and cycles
        for (int s = 0; s < stages; s++) {
            assertThat(schedule.maxInFlight(s)).isEqualTo(kind.inFlightBound(s, stages, microBatches));
            assertThat(schedule.stage(s)).hasSize(2 * microBatches);
        }
        assertThat(Schedule.parse(schedule.text())).isEqualTo(schedule);
        assertThat(Schedule.parse(schedule.csv())).isEqualTo(schedule);
        for (int backward : new int[] {1, 2}) {
            double length = ScheduleLength.of(schedule, ScheduleLength.Durations.uniform(stages, 1, backward, 0))
                    .length();
            assertThat(length).isEqualTo((double) kind.closedFormLength(stages, microBatches, 1, backward));
        }
        assertThat(Schedules.byName(kind.name())).isEqualTo(kind);
    }

    @Test
    void kfkbIs1f1bAndGpipeAtItsEnds() {
        assertThat(new Kfkb(1).make(4, 8)).isEqualTo(Schedules.byName("1f1b").make(4, 8));
        assertThat(new Kfkb(8).make(4, 8)).isEqualTo(new Gpipe().make(4, 8));
        assertThat(new Kfkb(1).make(2, 3).text()).isEqualTo("F0 F1 B0 F2 B1 B2\nF0 B0 F1 B1 F2 B2\n");
        assertThat(new Kfkb(2).make(2, 4).text()).isEqualTo("F0 F1 F2 F3 B0 B1 B2 B3\nF0 F1 B0 B1 F2 F3 B2 B3\n");
    }

    /** Makespans derived for Ada-Grouper: forward 1, backward 2, hop c. */
    @ParameterizedTest
    @CsvSource({
        "2,8,0,1,27",
        "2,8,.5,1,31",
        "2,8,.5,2,28",
        "2,8,.5,4,28",
        "2,8,.5,8,28",
        "4,16,0,1,57",
        "4,16,.5,1,71",
        "4,16,.5,2,60",
        "4,16,.5,4,60",
        "4,16,.5,16,60",
        "4,32,0,1,105",
        "4,32,.5,1,131",
        "4,32,.5,2,108",
        "4,32,.5,4,108",
        "4,32,.5,32,108",
        "8,32,0,1,117",
        "8,32,.5,1,151",
        "8,32,.5,2,124",
        "8,32,.5,4,124",
        "8,32,.5,32,124",
        "4,32,1,1,157",
        "4,32,1,2,111",
        "4,32,1,4,111",
        "4,32,1,8,111",
        "4,32,1.5,1,183",
        "4,32,1.5,2,118",
        "4,32,1.5,4,115.5",
        "4,32,1.5,8,117.5",
        "4,32,1.5,32,129.5",
        "4,32,2,1,209",
        "4,32,2,2,133",
        "4,32,2,4,120",
        "4,32,2,8,126",
        "4,32,2,32,148",
        "4,32,4,1,313",
        "4,32,4,2,209",
        "4,32,4,4,195",
        "4,32,4,8,230",
        "4,32,4,32,284"
    })
    void kfkbMakespans(int stages, int microBatches, double hop, int k, double expected) {
        Schedule schedule = new Kfkb(k).make(stages, microBatches);
        assertThat(ScheduleLength.of(schedule, ScheduleLength.Durations.uniform(stages, 1, 2, hop))
                        .length())
                .isCloseTo(expected, within(1e-9));
    }

    /** Makespans derived for AlpaComm's eager-1F1B against 1F1B: forward 1, backward 2, hop c. */
    @ParameterizedTest
    @CsvSource({
        "2,32,.25,107.0,99.5", "2,32,.5,115,100", "2,32,1,131,101",
        "4,32,.25,118.0,106.5", "4,32,.5,131,108", "4,32,1,157,111",
        "8,64,.25,244.0,216.5", "8,64,.5,275,220", "8,64,1,337,227"
    })
    void eagerMakespans(int stages, int microBatches, double hop, double plain, double eager) {
        ScheduleLength.Durations durations = ScheduleLength.Durations.uniform(stages, 1, 2, hop);
        assertThat(ScheduleLength.of(new Kfkb(1).make(stages, microBatches), durations)
                        .length())
                .isCloseTo(plain, within(1e-9));
        assertThat(ScheduleLength.of(new Eager1f1b().make(stages, microBatches), durations)
                        .length())
                .isCloseTo(eager, within(1e-9));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "F0 F1 B0/F0 B0 F1 B1 | The schedule (F0 F1 B0) of stage (0) must contain B1.",
                "B0 F0 | The action (B0) of stage (0) must occur once, after F0.",
                "F0 F0 B0 | The action (F0) of stage (0) must occur once, before B0.",
                "F0 X1 | The action (X1) of stage (0) must be F or B and a micro-batch's number.",
                "F0 B0 F1 B1/F0 F1 B0 B1 | must have no cycle, but these wait for each other: stage 0 at B0, stage 1 at F1."
            })
    void wrongSchedulesAreRefused(String text, String message) {
        assertThatThrownBy(() -> Schedule.parse(text.replace('/', '\n')))
                .isInstanceOf(UserError.class)
                .hasMessageContaining(message);
    }

    @Test
    void unknownNameListsTheKnownOnes() {
        assertThatThrownBy(() -> Schedules.byName("2f2b"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("1f1b, eager-1f1b, gpipe");
    }
}

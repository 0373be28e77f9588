package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.UserError;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SavesTest {
    private final List<String> lines = new ArrayList<>();

    private Saves saves(Set<Long> failing) {
        return new Saves(Path.of("state"), lines::add, (root, step) -> {
            if (failing.contains(step)) {
                throw new UserError("The state of step " + step + " must be saved.");
            }
            return root.resolve("step-" + step);
        });
    }

    @Test
    void failuresThatFollowEachOtherAreToldOnce() {
        Saves saves = saves(Set.of(2L, 3L, 5L));
        saves.save(1, 2);
        saves.save(2, 3);
        saves.save(3, 4);
        assertThat(saves.isLost()).isTrue();
        saves.save(4, 5);
        saves.save(5, 6);
        saves.save(6, 0);
        assertThat(saves.isLost()).isFalse();
        assertThat(saves.newest()).isEqualTo(Path.of("state/step-6"));
        saves.tellLost();
        assertThat(lines)
                .containsExactly(
                        "saved to " + Path.of("state/step-1"),
                        "The state of step 2 must be saved.",
                        "training goes on, and saving is tried again after step 3",
                        "saved to " + Path.of("state/step-4"),
                        "The state of step 5 must be saved.",
                        "training goes on, and saving is tried again after step 6",
                        "saved to " + Path.of("state/step-6"));
    }

    @Test
    void whatIsLostIsToldAtTheEnd() {
        Saves saves = saves(Set.of(2L));
        saves.save(1, 2);
        saves.save(2, 0);
        saves.tellLost();
        assertThat(saves.isLost()).isTrue();
        assertThat(saves.newest()).isEqualTo(Path.of("state/step-1"));
        assertThat(lines)
                .containsExactly(
                        "saved to " + Path.of("state/step-1"),
                        "The state of step 2 must be saved.",
                        "the last state (step 2) is NOT saved; the newest that is, of step 1, is in "
                                + Path.of("state/step-1"));
    }
}

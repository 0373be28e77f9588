package dev.drover.ir;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NearestTest {
    private static final List<String> NAMES =
            List.of("embedding", "dot.3", "dot.33", "h.0.attn.weight", "h.1.attn.weight");

    @Test
    void theNearestIsAlwaysFound() {
        assertThat(Nearest.of("dot.4", NAMES)).isEqualTo("dot.3");
        assertThat(Nearest.of("", NAMES)).isNotEmpty();
    }

    @Test
    void onlyNamesThatMayBeMeantAreAmongThem() {
        assertThat(Nearest.among("dot.35", NAMES)).containsExactly("dot.3", "dot.33");
        assertThat(Nearest.among("attn", NAMES)).containsExactly("h.0.attn.weight", "h.1.attn.weight");
        assertThat(Nearest.among("Embeding", NAMES)).containsExactly("embedding");
        assertThat(Nearest.among("zzz", NAMES)).isEmpty();
        assertThat(Nearest.among("m9", List.of("c1x", "m8", "s1"))).containsExactly("m8");
        assertThat(Nearest.among("-x", List.of("-h", "-V"))).isEmpty();
    }
}

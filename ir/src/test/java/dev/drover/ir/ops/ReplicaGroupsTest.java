package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class ReplicaGroupsTest {
    private static List<List<Integer>> groups(String text) {
        ReplicaGroups groups = ReplicaGroups.parse(text);
        assertThat(groups.toString()).isEqualTo(text);
        return groups.groups();
    }

    @Test
    void readsLists() {
        assertThat(groups("{}")).isEmpty();
        assertThat(groups("{{0,1},{2,3}}")).containsExactly(List.of(0, 1), List.of(2, 3));
        assertThat(groups("{{3,0}}")).containsExactly(List.of(3, 0));
        assertThat(ReplicaGroups.of(List.of(List.of(0, 2), List.of(1, 3))))
                .isEqualTo(ReplicaGroups.parse("{{0,2},{1,3}}"));
    }

    @Test
    void readsIotas() {
        assertThat(groups("[2,4]<=[8]")).containsExactly(List.of(0, 1, 2, 3), List.of(4, 5, 6, 7));
        // iota of [2,4] transposed to [4,2]: 0 4 | 1 5 | 2 6 | 3 7
        assertThat(groups("[4,2]<=[2,4]T(1,0)"))
                .containsExactly(List.of(0, 4), List.of(1, 5), List.of(2, 6), List.of(3, 7));
        assertThat(groups("[2,4]<=[4,2]T(1,0)")).containsExactly(List.of(0, 2, 4, 6), List.of(1, 3, 5, 7));
    }

    @Test
    void readsMeshes() {
        assertThat(groups("mesh['x'=2,'y'=3] {'y'}")).containsExactly(List.of(0, 1, 2), List.of(3, 4, 5));
        assertThat(groups("mesh['x'=2,'y'=3] {'x'}")).containsExactly(List.of(0, 3), List.of(1, 4), List.of(2, 5));
        // XLA prints the same collective of one program as [2,4]<=[4,2]T(1,0)
        assertThat(groups("mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'b'}"))
                .containsExactly(List.of(0, 2, 4, 6), List.of(1, 3, 5, 7));
        // half of an axis: 'x':(1)2 is its major part, 'x':(2)2 its minor part
        assertThat(groups("mesh['x'=4] {'x':(1)2}")).containsExactly(List.of(0, 2), List.of(1, 3));
        assertThat(groups("mesh['x'=4] {'x':(2)2}")).containsExactly(List.of(0, 1), List.of(2, 3));
    }

    @Test
    void refusesOthers() {
        for (String text : List.of("[2,3]<=[8]", "nonsense", "mesh['x'=2] {'z'}", "{{0,a}}")) {
            assertThatThrownBy(() -> ReplicaGroups.parse(text))
                    .isInstanceOf(AttributeException.class)
                    .hasMessageStartingWith("The replica_groups (" + text + ") must be like");
        }
    }

    @Test
    void namesTheAttributeThatIsWrong() {
        assertThatThrownBy(() -> ReplicaGroups.lists("source_target_pairs", "{{0,x}}"))
                .isInstanceOf(AttributeException.class)
                .hasMessage("The source_target_pairs ({{0,x}}) must be whole numbers, like {{0,1},{2,3}}.");
    }

    @Test
    void findsTheGroupOfADevice() {
        assertThat(ReplicaGroups.parse("{{0,1},{2,3}}").groupOf(2, 4)).containsExactly(2, 3);
        assertThat(ReplicaGroups.ALL.groupOf(2, 3)).containsExactly(0, 1, 2);
    }
}

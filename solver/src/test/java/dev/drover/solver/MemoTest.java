package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The small collections against those of Java. */
class MemoTest {
    @Test
    void memoIsAMapByRows() {
        SplittableRandom random = new SplittableRandom(1);
        Memo<Integer> memo = new Memo<>();
        Map<List<Integer>, Integer> expected = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            int length = random.nextInt(6) == 0 ? random.nextInt(40) : random.nextInt(3);
            List<Integer> rest = new ArrayList<>();
            for (int k = 0; k < length; k++) {
                rest.add(random.nextInt(-2, 4));
            }
            int first = random.nextInt(20);
            memo.begin(first, -1);
            rest.forEach(memo::add);
            memo.sortLast(length);
            rest.sort(null);
            rest.add(0, first);
            assertThat(memo.get()).isEqualTo(expected.get(rest));
            if (!expected.containsKey(rest)) {
                expected.put(rest, i);
                memo.put(i);
                assertThat(memo.get()).isEqualTo(i);
            }
        }
        assertThat(expected.size()).isGreaterThan(1000);
    }

    @Test
    void queueIsInOrder() {
        SplittableRandom random = new SplittableRandom(2);
        IntQueue queue = new IntQueue();
        ArrayDeque<Integer> expected = new ArrayDeque<>();
        for (int i = 0; i < 50_000; i++) {
            boolean more = random.nextInt(100) < (i < 25_000 ? 60 : 40);
            assertThat(queue.isEmpty()).isEqualTo(expected.isEmpty());
            if (more || expected.isEmpty()) {
                queue.add(i);
                expected.add(i);
            } else {
                assertThat(queue.poll()).isEqualTo(expected.poll());
            }
        }
    }
}

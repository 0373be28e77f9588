package dev.drover.backend.torch.emit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.backend.torch.LibTorch;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Pieces are done once each, by whoever is free, and neighbours only together if they do not meet in memory. */
class TeamTest {
    private final List<Team> teams = new ArrayList<>();

    @BeforeAll
    static void load() {
        LibTorch.load();
    }

    @AfterEach
    void close() {
        teams.forEach(Team::close);
        LibTorch.setThreads(1);
    }

    private Team team(int size) {
        Team team = new Team(size);
        teams.add(team);
        return team;
    }

    @Test
    void everyPieceIsDoneOnce() {
        for (int size = 1; size <= 4; size++) {
            Team team = team(size);
            for (int count : new int[] {0, 1, 2, 3, 7, 64}) {
                for (int round = 0; round < 200; round++) {
                    AtomicIntegerArray done = new AtomicIntegerArray(count);
                    int most = size;
                    team.run(count, (member, piece) -> {
                        assertThat(member).isBetween(0, most - 1);
                        done.incrementAndGet(piece);
                    });
                    for (int i = 0; i < count; i++) {
                        assertThat(done.get(i)).as("piece %d of %d", i, count).isEqualTo(1);
                    }
                }
            }
        }
    }

    /** With ranges dealt out ahead, the thread that is held up would have more than one piece. */
    @Test
    void whoIsHeldUpHoldsUpOnePiece() {
        Team team = team(2);
        CountDownLatch others = new CountDownLatch(9);
        team.run(10, (member, piece) -> {
            if (piece != 0) {
                others.countDown();
                return;
            }
            try {
                assertThat(others.await(20, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertThat(others.getCount()).isZero();
    }

    @Test
    void aFailureReachesTheCallerAndTheTeamGoesOn() {
        Team team = team(2);
        assertThatThrownBy(() -> team.run(4, (member, piece) -> {
                    if (piece == 2) {
                        throw new IllegalArgumentException("two");
                    }
                }))
                .hasRootCauseMessage("two");
        AtomicInteger done = new AtomicInteger();
        team.run(4, (member, piece) -> done.incrementAndGet());
        assertThat(done).hasValue(4);
    }

    @Test
    void librariesUseOneThreadInPiecesAndAllElsewhere() {
        Team team = team(2);
        AtomicInteger most = new AtomicInteger();
        team.run(8, (member, piece) -> most.accumulateAndGet(torch.get_num_threads(), Math::max));
        assertThat(most).hasValue(1);
        assertThat(torch.get_num_threads()).isEqualTo(2);
    }

    private static View view(Buffer buffer) {
        return new View(buffer, DType.F32, new long[] {buffer.elements()}, new long[] {1}, 0);
    }

    private static Buffer placed(long offsetBytes) {
        Buffer buffer = new Buffer(DType.F32, 16, Buffer.Kind.POOL);
        buffer.place(offsetBytes);
        return buffer;
    }

    private static Step step(String name, List<Buffer> reads, List<Buffer> writes) {
        return new Step(
                name,
                0,
                reads.stream().map(TeamTest::view).toList(),
                writes.stream().map(TeamTest::view).toList(),
                List.of(),
                List.of(),
                binder -> () -> {});
    }

    @Test
    void neighboursThatDoNotMeetInMemoryAreDoneTogether() {
        Team team = team(2);
        Buffer x = placed(0);
        Buffer q = placed(64);
        Buffer k = placed(128);
        Buffer overQ = placed(96);
        List<Step> steps = List.of(
                step("q", List.of(x), List.of(q)),
                step("k", List.of(x), List.of(k)),
                step("reads k", List.of(k), List.of(placed(256))),
                step("over q", List.of(x), List.of(overQ)),
                step("over both", List.of(x), List.of(placed(128))),
                step("alone", List.of(x), List.of(placed(512))),
                step("last", List.of(x), List.of(placed(1024))));
        List<String> ran = new ArrayList<>();
        List<Runnable> bound = new ArrayList<>();
        for (Step step : steps) {
            Team.Work work = (member, piece) -> {
                synchronized (ran) {
                    ran.add(step.name() + piece);
                }
            };
            bound.add(step.name().equals("alone") ? () -> work.run(0, 0) : new Shared(team, 2, work));
        }
        List<Shared.Joined> joined = Shared.join(steps, bound);
        assertThat(joined.stream().map(Shared.Joined::name))
                .containsExactly("q, k", "reads k", "over q", "over both", "alone", "last");
        joined.get(0).step().run();
        assertThat(ran).containsExactlyInAnyOrder("q0", "q1", "k0", "k1");
    }
}

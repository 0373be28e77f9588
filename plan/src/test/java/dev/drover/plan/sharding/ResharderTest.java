package dev.drover.plan.sharding;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.mesh.Mesh;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ResharderTest {
    private static final Mesh LINE = Mesh.of(4);
    private static final Mesh SQUARE = Mesh.of(2, 4);
    private static final ArrayShape SHAPE = ArrayShape.of(DType.F32, 16, 32);

    /** Bytes moved by a ring, and one unit per message; memory is 16 times as fast. */
    private static CollectiveCost ring(Mesh mesh) {
        return new CollectiveCost() {
            @Override
            public double nanos(CollectiveKind kind, int axis, long bytes) {
                double n = mesh.size(axis);
                double factor = kind == CollectiveKind.ALL_REDUCE ? 2 : 1;
                return n + factor * bytes * (n - 1) / n;
            }

            @Override
            public double localNanos(long bytes) {
                return 1 + bytes / 16.0;
            }
        };
    }

    private static List<CollectiveKind> kinds(Mesh mesh, Sharding from, Sharding to) {
        return new Resharder(mesh, ring(mesh))
                .path(SHAPE, from, to).stream().map(ReshardStep::collective).toList();
    }

    private static Sharding line(AxisState state) {
        return new Sharding(List.of(state));
    }

    @Test
    void eachPairOfStatesHasItsCollective() {
        AxisState rows = new AxisState.Cut(0, 4);
        AxisState columns = new AxisState.Cut(1, 8);
        assertThat(kinds(LINE, line(AxisState.PARTIAL_SUM), line(AxisState.REPLICATED)))
                .containsExactly(CollectiveKind.ALL_REDUCE);
        assertThat(kinds(LINE, line(AxisState.PARTIAL_SUM), line(rows))).containsExactly(CollectiveKind.REDUCE_SCATTER);
        assertThat(kinds(LINE, line(rows), line(AxisState.REPLICATED))).containsExactly(CollectiveKind.ALL_GATHER);
        assertThat(kinds(LINE, line(rows), line(columns))).containsExactly(CollectiveKind.ALL_TO_ALL);
        assertThat(kinds(LINE, line(AxisState.REPLICATED), line(rows))).containsExactly((CollectiveKind) null);
        assertThat(kinds(LINE, line(AxisState.REPLICATED), line(AxisState.PARTIAL_SUM)))
                .containsExactly((CollectiveKind) null);
        assertThat(kinds(LINE, line(rows), line(rows))).isEmpty();
    }

    @Test
    void slicesBeforeItCommunicates() {
        // Reducing over x is cheaper on a piece that is already cut along y.
        Sharding from = new Sharding(List.of(AxisState.PARTIAL_SUM, AxisState.REPLICATED));
        Sharding to = new Sharding(List.of(AxisState.REPLICATED, new AxisState.Cut(1, 8)));
        assertThat(kinds(SQUARE, from, to)).containsExactly(null, CollectiveKind.ALL_REDUCE);
    }

    @Test
    void anyTwoShardingsAreJoinedByStepsThatFit() {
        Random random = new Random(Long.getLong("seed", 7));
        for (int round = 0; round < 500; round++) {
            Sharding from = draw(random, SQUARE);
            Sharding to = draw(random, SQUARE);
            Sharding at = from;
            for (ReshardStep step : new Resharder(SQUARE, ring(SQUARE)).path(SHAPE, from, to)) {
                assertThat(step.from()).isEqualTo(at);
                assertThat(step.to().fits(SHAPE, SQUARE)).isTrue();
                at = step.to();
            }
            assertThat(at).isEqualTo(to);
        }
    }

    /** The search for shardings asks for times only, which are found another way than paths. */
    @Test
    void theTimeIsThatOfThePath() {
        Random random = new Random(Long.getLong("seed", 8));
        for (Mesh mesh : List.of(LINE, SQUARE, Mesh.of(2, 2, 2))) {
            Resharder resharder = new Resharder(mesh, ring(mesh));
            for (int round = 0; round < 500; round++) {
                Sharding from = draw(random, mesh);
                Sharding to = draw(random, mesh);
                double sum = 0;
                for (ReshardStep step : resharder.path(SHAPE, from, to)) {
                    sum += step.nanos();
                }
                assertThat(resharder.nanos(SHAPE, from, to))
                        .as("%s to %s", from, to)
                        .isEqualTo(sum);
            }
        }
    }

    static Sharding draw(Random random, Mesh mesh) {
        while (true) {
            Sharding sharding = Sharding.replicated(mesh);
            for (int axis = 0; axis < mesh.rank(); axis++) {
                int pick = random.nextInt(5);
                if (pick == 0) {
                    sharding = sharding.with(axis, AxisState.PARTIAL_SUM);
                } else if (pick > 1) {
                    int dim = random.nextInt(2);
                    sharding = sharding.with(axis, new AxisState.Cut(dim, 1L << random.nextInt(4)));
                }
            }
            if (sharding.fits(SHAPE, mesh)) {
                return sharding;
            }
        }
    }
}

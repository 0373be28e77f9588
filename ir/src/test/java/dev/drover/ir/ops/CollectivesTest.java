package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.SpmdEvaluator;
import dev.drover.ir.eval.Value;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class CollectivesTest {
    /** Devices 0, 2 and 1, 3 work together, the second group in falling order. */
    private static final Channel PAIRS = Channel.of(ReplicaGroups.parse("{{0,2},{3,1}}"), 7);

    /** Device d has [[10d, 10d+1], [10d+2, 10d+3], ..] of the given dims. */
    private static List<List<Literal>> arguments(int operands, long... dims) {
        List<List<Literal>> all = new ArrayList<>();
        for (int d = 0; d < 4; d++) {
            List<Literal> mine = new ArrayList<>();
            for (int o = 0; o < operands; o++) {
                Literal literal = Literal.zeros(ArrayShape.of(DType.F32, dims));
                for (int i = 0; i < literal.size(); i++) {
                    literal.doubles()[i] = 10 * d + 100 * o + i;
                }
                mine.add(literal);
            }
            all.add(mine);
        }
        return all;
    }

    private static List<Value> run(Op op, List<List<Literal>> arguments) {
        List<Shape> shapes =
                arguments.get(0).stream().map(a -> (Shape) a.shape()).toList();
        return SpmdEvaluator.evaluate(
                Apply.computation(op, shapes),
                arguments.stream().map(a -> List.<Value>copyOf(a)).toList());
    }

    private static double[] doubles(Value value) {
        return value.literal().doubles();
    }

    @Test
    void allReduceSumsWithinGroups() {
        AllReduce op = new AllReduce(PAIRS, Reducers.computation(Reduction.SUM, DType.F32));
        List<Value> results = run(op, arguments(1, 2));
        assertThat(doubles(results.get(0))).containsExactly(20, 22);
        assertThat(doubles(results.get(1))).containsExactly(40, 42);
        assertThat(doubles(results.get(2))).containsExactly(20, 22);
        assertThat(doubles(results.get(3))).containsExactly(40, 42);
        assertThat(Apply.printed(op))
                .isEqualTo("channel_id=7, replica_groups={{0,2},{3,1}}, use_global_device_ids=true, to_apply=%sum_f32");
    }

    @Test
    void allReduceOfSeveralOperandsIsATuple() {
        AllReduce op = new AllReduce(Channel.of(ReplicaGroups.ALL, 0), Reducers.computation(Reduction.MAX, DType.F32));
        List<Value> results = run(op, arguments(2, 2));
        assertThat(Apply.element(results.get(1), 0).doubles()).containsExactly(30, 31);
        assertThat(Apply.element(results.get(1), 1).doubles()).containsExactly(130, 131);
    }

    @Test
    void allGatherJoinsInTheOrderOfTheGroup() {
        List<Value> results = run(new AllGather(PAIRS, 1, 2), arguments(1, 2, 2));
        assertThat(results.get(0).literal().shape()).isEqualTo(ArrayShape.of(DType.F32, 2, 4));
        assertThat(doubles(results.get(0))).containsExactly(0, 1, 20, 21, 2, 3, 22, 23);
        assertThat(doubles(results.get(1))).containsExactly(30, 31, 10, 11, 32, 33, 12, 13);
        assertThat(doubles(results.get(3))).isEqualTo(doubles(results.get(1)));
    }

    @Test
    void reduceScatterKeepsTheBlockOfItsPlaceInTheGroup() {
        ReduceScatter op = new ReduceScatter(PAIRS, 1, 2, Reducers.computation(Reduction.SUM, DType.F32));
        List<Value> results = run(op, arguments(1, 2, 2));
        assertThat(doubles(results.get(0))).containsExactly(20, 24); // first column of device 0 + device 2
        assertThat(doubles(results.get(2))).containsExactly(22, 26);
        assertThat(doubles(results.get(3))).containsExactly(40, 44); // device 3 comes first in its group
        assertThat(doubles(results.get(1))).containsExactly(42, 46);
    }

    @Test
    void allToAllSwapsBlocks() {
        List<Value> results = run(new AllToAll(PAIRS, 0), arguments(1, 2, 2));
        assertThat(doubles(results.get(0))).containsExactly(0, 1, 20, 21);
        assertThat(doubles(results.get(2))).containsExactly(2, 3, 22, 23);
        assertThat(doubles(results.get(3))).containsExactly(30, 31, 10, 11);
        assertThat(doubles(results.get(1))).containsExactly(32, 33, 12, 13);
    }

    @Test
    void allToAllOfATupleSwapsOperands() {
        List<Value> results = run(new AllToAll(PAIRS, -1), arguments(2, 1));
        assertThat(Apply.element(results.get(0), 0).doubles()).containsExactly(0);
        assertThat(Apply.element(results.get(0), 1).doubles()).containsExactly(20);
        assertThat(Apply.element(results.get(2), 0).doubles()).containsExactly(100);
        assertThat(Apply.element(results.get(2), 1).doubles()).containsExactly(120);
        assertThat(Apply.element(results.get(1), 0).doubles()).containsExactly(130);
        assertThat(Apply.element(results.get(1), 1).doubles()).containsExactly(110);
    }

    @Test
    void collectivePermuteSendsAlongPairs() {
        CollectivePermute op = new CollectivePermute(
                3,
                List.of(
                        new CollectivePermute.Pair(0, 1),
                        new CollectivePermute.Pair(1, 3),
                        new CollectivePermute.Pair(3, 0)));
        List<Value> results = run(op, arguments(1, 2));
        assertThat(doubles(results.get(0))).containsExactly(30, 31);
        assertThat(doubles(results.get(1))).containsExactly(0, 1);
        assertThat(doubles(results.get(2))).containsExactly(0, 0); // nobody sends to it
        assertThat(doubles(results.get(3))).containsExactly(10, 11);
        assertThat(Apply.printed(op)).isEqualTo("channel_id=3, source_target_pairs={{0,1},{1,3},{3,0}}");
    }

    @Test
    void collectiveBroadcastSendsFromTheFirst() {
        List<Value> results =
                run(new CollectiveBroadcast(Channel.of(ReplicaGroups.parse("{{2,0},{3}}"), 1)), arguments(1, 1));
        assertThat(results.stream().map(r -> doubles(r)[0])).containsExactly(20.0, 0.0, 20.0, 30.0);
    }

    @Test
    void partitionIdIsTheDevice() {
        List<Value> results =
                SpmdEvaluator.evaluate(Apply.computation(new PartitionId(), List.of()), List.of(List.of(), List.of()));
        assertThat(results).containsExactly(Literal.scalar(DType.U32, 0), Literal.scalar(DType.U32, 1));
    }

    @Test
    void startsYieldWhatDonesPassOn() {
        List<Shape> shape = List.of(ArrayShape.of(DType.F32, 2));
        for (Op start : Arrays.asList(
                new AllGather(PAIRS, 0, 2, true),
                new AllReduce(PAIRS, Reducers.computation(Reduction.SUM, DType.F32), true),
                new CollectivePermute(0, List.of(new CollectivePermute.Pair(0, 0)), true))) {
            String done = start.opcode().replace("-start", "-done");
            Op end = new CollectiveDone(done);
            Op plain = start instanceof AllGather
                    ? new AllGather(PAIRS, 0, 2)
                    : start instanceof AllReduce all
                            ? new AllReduce(PAIRS, all.reducer())
                            : new CollectivePermute(0, List.of(new CollectivePermute.Pair(0, 0)));
            assertThat(end.inferShape(List.of(start.inferShape(shape)))).isEqualTo(plain.inferShape(shape));
        }
    }

    @Test
    void allGatherRefusesGroupsOfAnotherSize() {
        assertThatThrownBy(() -> new AllGather(PAIRS, 0, 3).inferShape(List.of(ArrayShape.of(DType.F32, 2))))
                .hasMessage("The result of all-gather must be as many times its operand (3) as its replica_groups"
                        + " ({{0,2},{3,1}}) have members.");
    }
}

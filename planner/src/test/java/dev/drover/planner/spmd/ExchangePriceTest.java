package dev.drover.planner.spmd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.Phase;
import dev.drover.solver.Solution;
import dev.drover.solver.SolveOptions;
import dev.drover.solver.StrategySolver;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Halos and padded blocks are priced as they are lowered, and chosen where they are cheapest. */
class ExchangePriceTest {
    private static final double LATENCY_NANOS = 1000;
    private static final double NANOS_A_BYTE = 0.1;
    private static final Mesh MESH = Mesh.of(4);
    private static final Resharder RESHARDER = new Resharder(
            MESH,
            (kind, axis, bytes) ->
                    (kind == CollectiveKind.ALL_REDUCE ? 2 : 1) * (LATENCY_NANOS + NANOS_A_BYTE * bytes));
    /** A nanosecond for 10 flops and for 100 bytes. */
    private static final InstructionCost COST = (whole, flops, operands, results) -> flops / 10
            + (operands.stream().mapToLong(s -> s.sizeBytes()).sum()
                            + results.stream().mapToLong(s -> s.sizeBytes()).sum())
                    / 100.0;

    private static Computation entry(String body) {
        return HloReader.read("price.hlo", "HloModule price\nENTRY main {\n" + body + "\n}\n")
                .entry();
    }

    private static LocalTime time(OpShardings shardings, OpStrategy strategy) {
        return LocalTime.of(shardings, strategy, COST, RESHARDER);
    }

    private static OpStrategy withOperand(OpShardings shardings, String text) {
        return shardings.all().stream()
                .filter(s -> shardings.exchanges(s)
                        && shardings.operand(s, 0).text(MESH).equals(text))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aHaloCostsItsBytesBothWays() {
        Instruction convolution = entry("x = f32[1,64,64,8] parameter(0)\nw = f32[3,3,8,8] parameter(1)\n"
                        + "ROOT y = f32[1,64,64,8] convolution(x, w), window={size=3x3 pad=1_1x1_1},"
                        + " dim_labels=b01f_01io->b01f")
                .root();
        OpShardings shardings = new OpShardings(convolution, MESH);
        LocalTime rows = time(shardings, withOperand(shardings, "x:S1/16"));
        assertThat(rows.exchangeNanos()).isCloseTo(2 * (LATENCY_NANOS + NANOS_A_BYTE * 64 * 8 * 4), within(1e-6));
        // a quarter of the products, padding of the extended block included, and the copies
        double whole = convolution.op().flops(convolution.operandShapes(), convolution.shape()) / 10.0;
        assertThat(rows.computeNanos()).isBetween(whole / 4, whole / 4 * 1.2);
    }

    @Test
    void aPaddedBlockCostsItsComputeAndTheGather() {
        Instruction dot = entry("x = f32[9,256] parameter(0)\ny = f32[256,256] parameter(1)\n"
                        + "ROOT z = f32[9,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
                .root();
        OpShardings shardings = new OpShardings(dot, MESH);
        LocalTime rows = time(shardings, withOperand(shardings, "x:R"));
        assertThat(rows.exchangeNanos()).isCloseTo(LATENCY_NANOS + NANOS_A_BYTE * 12 * 256 * 4, within(1e-6));
        double block = 2.0 * 3 * 256 * 256 / 10;
        assertThat(rows.computeNanos()).isBetween(block, block * 1.2);
    }

    /** One image, three convolutions: nothing else is as cheap as cutting rows and sending borders. */
    @Test
    void theSearchCutsRowsOfOneImage() {
        StringBuilder body = new StringBuilder("x0 = f32[1,64,64,6] parameter(0)\n");
        for (int i = 1; i <= 3; i++) {
            body.append("w" + i + " = f32[3,3,6,6] parameter(" + i + ")\n");
        }
        for (int i = 1; i <= 3; i++) {
            body.append((i == 3 ? "ROOT " : "") + "x" + i + " = f32[1,64,64,6] convolution(x" + (i - 1) + ", w" + i
                    + "), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n");
        }
        Computation flat = entry(body.toString());
        int n = flat.size();
        SpmdInput input = new SpmdInput(
                flat,
                Collections.nCopies(n, 0),
                Collections.nCopies(n, Phase.FORWARD),
                Collections.nCopies(n, 1L),
                Collections.nCopies(n, 1L),
                List.of(-1));
        SpmdProblem problem = new SpmdProblem(input, new MeshPrices(COST, RESHARDER));
        Solution solution = StrategySolver.solve(
                problem.integers(Long.MAX_VALUE / 4), SolveOptions.ofSeconds(20), improvement -> {});
        ShardingDecisions decisions = problem.decisions(solution.choices());
        for (Instruction instruction : flat.instructions()) {
            if (instruction.op().opcode().equals("convolution")) {
                OpShardings shardings = new OpShardings(instruction, MESH);
                OpStrategy chosen = decisions.strategies().get(instruction.id());
                assertThat(shardings.exchanges(chosen)).as("%s", chosen).isTrue();
                assertThat(shardings.result(chosen, 0).text(MESH)).isIn("x:S1/16", "x:S2/16");
            }
        }
    }
}

package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The registry of ops. */
final class OpsTest {

    @Test
    void opcodesAreSortedAndUnique() {
        List<String> opcodes = Ops.ALL.stream().map(OpKind::opcode).toList();
        assertThat(opcodes).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void elementwiseKindsAreRegisteredUnderTheirOpcodes() {
        OpSource source = new OpSource("any", ArrayShape.scalar(DType.F32), List.of(), "", Map.of(), name -> {
            throw new IllegalArgumentException(name);
        });
        for (UnaryKind kind : UnaryKind.values()) {
            assertThat(Ops.byOpcode(kind.opcode())).isNotNull();
            assertThat(kind.kind().factory().make(source)).isEqualTo(new Unary(kind));
        }
        for (BinaryKind kind : BinaryKind.values()) {
            assertThat(Ops.byOpcode(kind.opcode())).isNotNull();
            assertThat(kind.kind().factory().make(source)).isEqualTo(new Binary(kind));
        }
        assertThat(Ops.byOpcode("no-such-op")).isNull();
    }
}

package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.ir.graph.Computation;
import java.util.ArrayList;
import java.util.List;

/** What can be told of a loop from its body. */
final class Loops {
    private Loops() {}

    /** For each leaf of the state whether the body passes it through. */
    static List<Boolean> invariant(Computation body, int leaves) {
        FlatProgram program = FlatProgram.of(body);
        List<Boolean> out = new ArrayList<>();
        for (int i = 0; i < leaves; i++) {
            out.add(program.outputs().get(i).equals(program.parameters().get(0).get(i)));
        }
        return out;
    }
}

package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.HostCopy;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Runs any op by the reference evaluator on copies: right and slow, for what is rare. */
final class HostKernel {
    static final Emitter.Kernel KERNEL = HostKernel::emit;

    private HostKernel() {}

    private static void emit(Emitter emitter, Node node) {
        ComputationBuilder builder = new ComputationBuilder("host_" + node.name());
        List<Instruction> parameters = new ArrayList<>();
        List<View> inputs = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            parameters.add(builder.parameter("p" + i, node.input(i).shape()));
            inputs.add(emitter.contiguous(emitter.input(node, i)));
        }
        Computation computation = builder.build(builder.add(node.op(), parameters));
        List<View> results = new ArrayList<>();
        for (int i = 0; i < node.results().size(); i++) {
            results.add(emitter.result(node, i));
        }
        emitter.noteHostStep();
        emitter.step(inputs, results, binder -> {
            List<Tensor> in = inputs.stream().map(binder::tensor).toList();
            List<Tensor> out = results.stream().map(binder::tensor).toList();
            return () -> {
                List<Value> arguments = new ArrayList<>();
                for (int i = 0; i < in.size(); i++) {
                    arguments.add(HostCopy.read(inputs.get(i).shape(), in.get(i).data_ptr()));
                }
                List<Literal> values = new ArrayList<>();
                collect(Evaluator.evaluate(computation, arguments), values);
                for (int i = 0; i < out.size(); i++) {
                    HostCopy.write(values.get(i), out.get(i).data_ptr());
                }
            };
        });
    }

    private static void collect(Value value, List<Literal> out) {
        if (value instanceof Literal literal) {
            out.add(literal);
        } else if (value instanceof Value.Tuple tuple) {
            tuple.elements().forEach(element -> collect(element, out));
        }
    }
}

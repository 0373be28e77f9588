package dev.drover.backend.torch;

import dev.drover.backend.torch.emit.Compiled;
import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.backend.torch.fuse.Rewrites;
import dev.drover.backend.torch.kernel.Chain;
import dev.drover.backend.torch.kernel.Kernels;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.memory.KernelWork;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;

/** A computation whose kernels and memory are planned; nothing is allocated and libtorch is not loaded yet. */
public final class TorchLayout {
    private final FlatProgram program;
    private final Compiled compiled;
    private final int[] donorByOutput;

    private TorchLayout(FlatProgram program, Compiled compiled, int[] donorByOutput) {
        this.program = program;
        this.compiled = compiled;
        this.donorByOutput = donorByOutput;
    }

    /**
     * Plans a computation whose parameters and root may be tuples; inputs and outputs are their array leaves, depth-first. Fails with
     * {@link dev.drover.ir.UserError}, naming all of them, if ops have no meaning here.
     *
     * @param donations see {@link TorchOptions}
     */
    public static TorchLayout of(
            Computation computation, Map<Integer, Integer> donations, DeviceContext context, boolean fuse) {
        Kernels.check(computation);
        UnaryOperator<FlatProgram> rewrites = fuse ? Rewrites::apply : UnaryOperator.identity();
        FlatProgram program = rewrites.apply(FlatProgram.of(computation));
        int[] donorByOutput = new int[program.outputs().size()];
        Arrays.fill(donorByOutput, -1);
        donations.forEach((output, input) -> donorByOutput[output] = input);
        Emitter emitter = new Emitter(Kernels::of, rewrites, context);
        return new TorchLayout(program, Compiled.compile(program, emitter, donorByOutput), donorByOutput);
    }

    /** Size of the pool of temporaries. */
    public long poolBytes() {
        return compiled.poolBytes();
    }

    /** Size of what is written once, when the program is bound. */
    public long constantBytes() {
        return compiled.constantBytes();
    }

    /** What one run does beside the instructions of some names (bodies of loops counted once). */
    public KernelWork kernelWork(Set<String> without) {
        int calls = 0;
        long bytes = 0;
        Set<String> different = new HashSet<>();
        for (Step step : compiled.steps()) {
            different.add(kind(step));
            if (!without.contains(step.name())) {
                calls++;
                bytes += bytes(step.reads()) + bytes(step.writes());
            }
        }
        long chained = 0;
        long divided = 0;
        for (Node node : program.order()) {
            if (node.op() instanceof Chain chain) {
                chained += chain.simpleOps() * node.shape().elements();
                divided += chain.divisions() * node.shape().elements();
            }
        }
        return new KernelWork(calls, bytes, chained, divided, different.size(), touchedBytes());
    }

    /** Equal for steps that run the same code: of one op on operands of the same sizes. */
    private static String kind(Step step) {
        String name = step.name();
        int stem = name.length();
        while (stem > 0 && (name.charAt(stem - 1) == '.' || Character.isDigit(name.charAt(stem - 1)))) {
            stem--;
        }
        StringBuilder kind = new StringBuilder(name.substring(0, stem));
        for (List<View> views : List.of(step.reads(), step.writes())) {
            views.forEach(view -> kind.append(' ').append(view.dtype()).append(view.elements()));
        }
        return kind.toString();
    }

    private long touchedBytes() {
        long bytes = compiled.poolBytes();
        for (ArrayShape input : compiled.inputs()) {
            bytes += input.sizeBytes();
        }
        for (Node.Ref output : program.outputs()) {
            bytes += output.shape().sizeBytes();
        }
        return bytes;
    }

    /** Of repeated elements, each counts once. */
    private static long bytes(List<View> views) {
        long bytes = 0;
        for (View view : views) {
            bytes += Math.min(view.elements(), view.buffer().elements()) * Carriers.width(view.dtype());
        }
        return bytes;
    }

    /** Outputs that take over the memory of a donated input. */
    public Set<Integer> donationsKept() {
        Set<Integer> kept = new TreeSet<>();
        for (int i = 0; i < compiled.outputs().size(); i++) {
            if (compiled.outputs().get(i).fromInput() >= 0) {
                kept.add(i);
            }
        }
        return kept;
    }

    Compiled compiled() {
        return compiled;
    }

    int[] donorByOutput() {
        return donorByOutput.clone();
    }
}

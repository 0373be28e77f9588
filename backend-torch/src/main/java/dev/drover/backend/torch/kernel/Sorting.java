package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Sort;
import dev.drover.ir.ops.TopK;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** {@code sort} by one key and {@code topk}, by libtorch's stable sort; other comparators go to the host. */
final class Sorting {
    private Sorting() {}

    /** A comparator that compares one operand's elements. */
    private record Key(int operand, boolean descending) {}

    private static @Nullable Key key(Computation comparator) {
        Instruction root = comparator.root();
        String direction = Comparisons.direction(root.op());
        if (direction == null
                || !(root.operand(0).op() instanceof Parameter left)
                || !(root.operand(1).op() instanceof Parameter right)) {
            return null;
        }
        boolean pair = left.number() / 2 == right.number() / 2 && left.number() != right.number();
        boolean less = direction.equals("LT");
        if (!pair || !(less || direction.equals("GT"))) {
            return null;
        }
        boolean inOrder = left.number() < right.number();
        return new Key(left.number() / 2, less != inOrder);
    }

    private static boolean supports(DType dtype) {
        return switch (dtype) {
            case S8, S16, S32, S64, U8, U16, U32 -> true;
            default -> false;
        };
    }

    static void sort(Emitter emitter, Node node) {
        Sort sort = (Sort) node.op();
        Key key = key(sort.comparator());
        // The order of NaN and of zeros of both signs under a comparator is not libtorch's: floats go to the host.
        if (key == null
                || !supports(node.input(key.operand()).shape().dtype())
                || node.shape().elements() == 0) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        List<View> inputs = new ArrayList<>();
        List<View> results = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            inputs.add(emitter.input(node, i));
            results.add(emitter.result(node, i));
        }
        emitter.step(inputs, results, binder -> {
            List<Tensor> in = inputs.stream().map(binder::tensor).toList();
            List<Tensor> out = results.stream().map(binder::tensor).toList();
            BoolOptional stable = binder.own(new BoolOptional(true));
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    Tensor order = torch.sort(in.get(key.operand()), stable, sort.dimension(), key.descending())
                            .get1();
                    for (int i = 0; i < in.size(); i++) {
                        torch.gather_out(out.get(i), in.get(i), sort.dimension(), order);
                    }
                }
            };
        });
    }

    static void topK(Emitter emitter, Node node) {
        TopK top = (TopK) node.op();
        View x = emitter.input(node, 0);
        DType dtype = x.dtype();
        boolean floats = dtype == DType.F32 || dtype == DType.F64 || dtype == DType.BF16 || dtype == DType.F16;
        if (!(floats || supports(dtype)) || x.elements() == 0) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        View values = emitter.result(node, 0);
        View indexes = emitter.result(node, 1);
        emitter.step(List.of(x), List.of(values, indexes), binder -> {
            Tensor in = binder.tensor(x);
            Tensor outValues = binder.tensor(values);
            Tensor outIndexes = binder.tensor(indexes);
            BoolOptional stable = binder.own(new BoolOptional(true));
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    var sorted = torch.sort(in, stable, -1, top.largest());
                    outValues.copy_(sorted.get0().narrow(-1, 0, top.k()));
                    outIndexes.copy_(sorted.get1().narrow(-1, 0, top.k()));
                }
            };
        });
    }
}

package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.ops.Conditional;
import dev.drover.ir.ops.While;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** {@code while} and {@code conditional}: blocks of steps in the same program, over the same pool. */
final class Control {
    private Control() {}

    /**
     * A loop. Each leaf of the state has a buffer of its own; what the body leaves as it is stays where it was before the loop; a
     * result that may overwrite the old state is made in place.
     */
    static void loop(Emitter emitter, Node node) {
        While loop = (While) node.op();
        List<View> inits = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            inits.add(emitter.input(node, i));
        }
        List<Boolean> fixed = Loops.invariant(loop.body(), inits.size());
        List<View> state = new ArrayList<>();
        for (int i = 0; i < inits.size(); i++) {
            if (fixed.get(i)) {
                state.add(inits.get(i));
                continue;
            }
            View own = emitter.scratch(inits.get(i).shape());
            emitter.copyAlways(inits.get(i), own);
            state.add(own);
        }
        View[] goOn = new View[1];
        Step.Block condition = emitter.block(() -> {
            goOn[0] = emitter.scratch(ArrayShape.scalar(DType.PRED));
            emitter.copyAlways(emitter.inline(loop.condition(), state).get(0), goOn[0]);
        });
        Step.Block body = emitter.block(() -> {
            List<View> results = emitter.inline(loop.body(), state);
            emitter.replace(results, state);
        });
        List<View> touched = new ArrayList<>(state);
        touched.add(goOn[0]);
        emitter.control(touched, List.of(), List.of(condition, body), binder -> {
            Runnable[] conditionSteps = binder.bind(condition);
            Runnable[] bodySteps = binder.bind(body);
            Tensor again = binder.tensor(goOn[0]);
            return () -> {
                run(conditionSteps);
                while (again.item_bool()) {
                    run(bodySteps);
                    run(conditionSteps);
                }
            };
        });
        for (int i = 0; i < state.size(); i++) {
            emitter.define(node.ref(i), state.get(i));
        }
    }

    static void conditional(Emitter emitter, Node node) {
        Conditional op = (Conditional) node.op();
        View choice = emitter.input(node, 0);
        List<View> results = new ArrayList<>();
        for (ArrayShape shape : node.results()) {
            results.add(emitter.scratch(shape));
        }
        List<Step.Block> blocks = new ArrayList<>();
        List<View> touched = new ArrayList<>(List.of(choice));
        int at = 1;
        for (var branch : op.branches()) {
            int count = branch.parameters().get(0).shape().leaves().size();
            List<View> arguments = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                arguments.add(emitter.input(node, at++));
            }
            touched.addAll(arguments);
            blocks.add(emitter.block(() -> {
                List<View> values = emitter.inline(branch, arguments);
                for (int i = 0; i < values.size(); i++) {
                    emitter.copyAlways(values.get(i), results.get(i));
                }
            }));
        }
        List<View> kept = new ArrayList<>(touched);
        kept.addAll(results);
        emitter.control(kept, List.of(), blocks, binder -> branches(binder, op, choice, blocks));
        for (int i = 0; i < results.size(); i++) {
            emitter.define(node.ref(i), results.get(i));
        }
    }

    private static Runnable branches(Binder binder, Conditional op, View choice, List<Step.Block> blocks) {
        Runnable[][] bound = blocks.stream().map(binder::bind).toArray(Runnable[][]::new);
        Tensor chosen = binder.tensor(choice);
        if (op.byPredicate()) {
            return () -> run(bound[chosen.item_bool() ? 0 : 1]);
        }
        return () -> {
            int index = chosen.item_int();
            run(bound[index < 0 || index >= bound.length ? bound.length - 1 : index]);
        };
    }

    private static void run(Runnable[] steps) {
        for (Runnable step : steps) {
            step.run();
        }
    }
}

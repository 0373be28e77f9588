package dev.drover.plan;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A small training step as HLO text: {@code h = tanh(h w)} layer by layer, squared error, SGD with momentum on the first layer. Tied
 * weights are used by the first layer and once more at the end.
 */
public final class ChainModel {
    private final StringBuilder text = new StringBuilder();
    private final int layers;
    private final int batch;
    private final int hidden;
    private final boolean tied;
    private int names;

    private ChainModel(int layers, int batch, int hidden, boolean tied) {
        this.layers = layers;
        this.batch = batch;
        this.hidden = hidden;
        this.tied = tied;
    }

    public static TrainingStep step(int layers, int batch, int hidden) {
        return new ChainModel(layers, batch, hidden, false).build();
    }

    public static TrainingStep tied(int layers, int batch, int hidden) {
        return new ChainModel(layers, batch, hidden, true).build();
    }

    private String add(String shape, String rest) {
        String name = "v" + names++;
        text.append("  ")
                .append(name)
                .append(" = ")
                .append(shape)
                .append(' ')
                .append(rest)
                .append('\n');
        return name;
    }

    private TrainingStep build() {
        String bh = "f32[" + batch + "," + hidden + "]";
        String hh = "f32[" + hidden + "," + hidden + "]";
        text.append("HloModule chain\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n")
                .append("  ROOT c = f32[] add(a, b)\n}\n\nENTRY main {\n");
        List<InputRole> inputs = new ArrayList<>();
        List<String> weights = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            weights.add(add(hh, "parameter(" + inputs.size() + ")"));
            inputs.add(new InputRole(InputRole.Kind.PARAMETER, "w" + i));
        }
        String momentum = add(hh, "parameter(" + inputs.size() + ")");
        inputs.add(new InputRole(InputRole.Kind.OPTIMIZER_STATE, "m0"));
        String x = add(bh, "parameter(" + inputs.size() + ")");
        inputs.add(new InputRole(InputRole.Kind.BATCH, "x"));
        String y = add(bh, "parameter(" + inputs.size() + ")");
        inputs.add(new InputRole(InputRole.Kind.BATCH, "y"));
        if (tied) {
            weights.add(weights.get(0));
        }
        List<String> h = new ArrayList<>(List.of(x));
        for (String weight : weights) {
            String z = add(
                    bh,
                    "dot(" + h.get(h.size() - 1) + ", " + weight
                            + "), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
            h.add(add(bh, "tanh(" + z + ")"));
        }
        String error = add(bh, "subtract(" + h.get(h.size() - 1) + ", " + y + ")");
        String squared = add(bh, "multiply(" + error + ", " + error + ")");
        String zero = add("f32[]", "constant(0)");
        String sum = add("f32[]", "reduce(" + squared + ", " + zero + "), dimensions={0,1}, to_apply=sum");
        String scale = add("f32[]", "constant(" + 1.0 / batch + ")");
        String loss = add("f32[]", "multiply(" + sum + ", " + scale + ")");
        String two = add("f32[]", "constant(" + 2.0 / batch + ")");
        String g = add(bh, "multiply(" + error + ", " + add(bh, "broadcast(" + two + "), dimensions={}") + ")");
        List<String> gradients = new ArrayList<>(weights);
        String one = add(bh, "broadcast(" + add("f32[]", "constant(1)") + "), dimensions={}");
        for (int i = weights.size() - 1; i >= 0; i--) {
            String out = h.get(i + 1);
            String slope = add(bh, "subtract(" + one + ", " + add(bh, "multiply(" + out + ", " + out + ")") + ")");
            String dz = add(bh, "multiply(" + g + ", " + slope + ")");
            gradients.set(
                    i,
                    add(hh, "dot(" + h.get(i) + ", " + dz + "), lhs_contracting_dims={0}, rhs_contracting_dims={0}"));
            g = add(bh, "dot(" + dz + ", " + weights.get(i) + "), lhs_contracting_dims={1}, rhs_contracting_dims={1}");
        }
        if (tied) {
            gradients.set(0, add(hh, "add(" + gradients.get(layers) + ", " + gradients.get(0) + ")"));
        }
        String rate = add(hh, "broadcast(" + add("f32[]", "constant(0.1)") + "), dimensions={}");
        String newMomentum =
                add(hh, "add(" + add(hh, "multiply(" + momentum + ", " + rate + ")") + ", " + gradients.get(0) + ")");
        gradients.set(0, newMomentum);
        List<OutputRole> outputs = new ArrayList<>();
        List<String> results = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            String delta = add(hh, "multiply(" + gradients.get(i) + ", " + rate + ")");
            results.add(add(hh, "subtract(" + weights.get(i) + ", " + delta + ")"));
            outputs.add(OutputRole.update(i));
        }
        results.add(newMomentum);
        outputs.add(OutputRole.update(layers));
        results.add(loss);
        outputs.add(OutputRole.LOSS);
        text.append("  ROOT out = (")
                .append((hh + ", ").repeat(layers + 1))
                .append("f32[]) tuple(")
                .append(String.join(", ", results))
                .append(")\n}\n");
        Graph graph = HloReader.read("chain", text);
        return new TrainingStep(graph, inputs, outputs);
    }

    /** Random inputs of a step. */
    public static List<Literal> inputs(TrainingStep step, long seed) {
        Random random = new Random(seed);
        List<Literal> out = new ArrayList<>();
        for (ArrayShape shape : step.inputShapes()) {
            double[] values = new double[Math.toIntExact(shape.elements())];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextGaussian() * 0.3;
            }
            out.add(Literal.ofDoubles(shape, values));
        }
        return out;
    }
}

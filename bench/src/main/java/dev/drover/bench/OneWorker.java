package dev.drover.bench;

import dev.drover.backend.torch.TorchMemory;
import dev.drover.backend.torch.TorchOptions;
import dev.drover.backend.torch.TorchProgram;
import dev.drover.backend.torch.TorchTensor;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.ops.Dot;
import dev.drover.models.BatchInput;
import dev.drover.models.Model;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A model of the zoo as one program in this process, whose state is updated in place. */
final class OneWorker implements Contender {
    private final TorchMemory memory = new TorchMemory();
    private final Model model;
    private final TorchProgram program;
    private final List<TorchTensor> state = new ArrayList<>();
    private final Map<Integer, Integer> inputByOutput = new HashMap<>();
    private double loss;

    OneWorker(Model model) {
        this.model = model;
        List<OutputRole> outputs = model.step().outputs();
        for (int i = 0; i < outputs.size(); i++) {
            if (outputs.get(i).kind() == OutputRole.Kind.UPDATE) {
                inputByOutput.put(i, outputs.get(i).input());
            }
        }
        this.program = TorchProgram.compile(
                model.step().graph().entry(), TorchOptions.of(memory).withDonations(inputByOutput));
        model.initialValues().forEach(spec -> state.add(TorchTensor.of(memory, InitialValues.fill(spec, 1))));
        Random random = new Random(3);
        for (BatchInput input : model.batch()) {
            long[] tokens = new long[(int) input.shape().elements()];
            Arrays.setAll(tokens, i -> random.nextInt((int) input.limit()));
            state.add(TorchTensor.of(memory, Literal.ofLongs(input.shape(), tokens)));
        }
    }

    @Override
    public String name() {
        return "drover";
    }

    @Override
    public Turn step() {
        long start = System.nanoTime();
        long cpuStart = cpuNanos();
        List<TorchTensor> outputs = program.run(state);
        for (int o = 0; o < outputs.size(); o++) {
            Integer input = inputByOutput.get(o);
            if (input != null) {
                state.set(input, outputs.get(o));
            } else {
                loss = outputs.get(o).toLiteral().asDouble(0);
                outputs.get(o).close();
            }
        }
        return new Turn((System.nanoTime() - start) / 1e6, (cpuNanos() - cpuStart) / 1e6);
    }

    double loss() {
        return loss;
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    /**
     * Prints where the calling thread's time goes, the least of some steps for each instruction: sums by the stem of instructions' names, then the slowest instructions, with the
     * rate of matrix products.
     */
    void profile(int lines, int steps) {
        Map<String, Long> best = new LinkedHashMap<>();
        for (int i = 0; i < steps; i++) {
            program.profile();
            step();
            program.nanosByInstruction().forEach((name, nanos) -> best.merge(name, nanos, Math::min));
        }
        Map<String, Double> flops = new HashMap<>();
        Map<String, String> kinds = new HashMap<>();
        for (Instruction instruction : model.step().graph().entry().instructions()) {
            StringBuilder kind = new StringBuilder(instruction.shape() + " of");
            instruction.operands().forEach(operand -> kind.append(' ').append(operand.shape()));
            kinds.put(instruction.name(), kind.toString());
            if (instruction.op() instanceof Dot dot) {
                double work = 2.0 * instruction.array().elements();
                for (int dim : dot.lhsContracting()) {
                    work *= instruction.operands().get(0).array().dim(dim);
                }
                flops.put(instruction.name(), work);
            }
        }
        Map<String, Long> byStem = new HashMap<>();
        List<Map.Entry<String, Long>> all = new ArrayList<>(best.entrySet());
        all.forEach(e -> byStem.merge(e.getKey().replaceAll("\\.\\d+$", ""), e.getValue(), Long::sum));
        for (List<Map.Entry<String, Long>> entries : List.of(new ArrayList<>(byStem.entrySet()), all)) {
            entries.sort(Map.Entry.<String, Long>comparingByValue().reversed());
            for (Map.Entry<String, Long> entry : entries.subList(0, Math.min(lines, entries.size()))) {
                double nanos = entry.getValue();
                Double work = flops.get(entry.getKey());
                System.out.printf(
                        "%10.3f ms  %-16s %s %s%n",
                        nanos / 1e6,
                        entry.getKey(),
                        work == null ? "" : String.format("%4.0f GFLOP/s ", work / nanos),
                        kinds.getOrDefault(entry.getKey(), ""));
            }
            System.out.println();
        }
    }

    @Override
    public void close() {
        program.close();
        state.forEach(TorchTensor::close);
        memory.close();
    }

    @Override
    public String toString() {
        return model.name() + ": " + program.stepCount() + " steps, pool " + (program.poolBytes() >> 20)
                + " MiB, in place " + program.donationsKept() + " of " + inputByOutput.size() + ", on the host "
                + program.hostSteps();
    }
}

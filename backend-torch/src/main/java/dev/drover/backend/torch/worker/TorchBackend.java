package dev.drover.backend.torch.worker;

import dev.drover.backend.torch.LibTorch;
import dev.drover.backend.torch.comm.GlooCommunicators;
import dev.drover.backend.torch.comm.GlooRendezvous;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.text.ExecutionPlanText;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.ConnectOptions;
import dev.drover.runtime.worker.Backend;
import dev.drover.runtime.worker.TaskInterpreter;
import dev.drover.runtime.worker.Workload;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Kernels of libtorch, communicators of Gloo. A program is the text of an execution plan with this worker's part only. */
public final class TorchBackend implements Backend {

    private @Nullable GlooRendezvous rendezvous;

    /**
     * Loads libtorch.
     *
     * @param threads for one kernel
     */
    public TorchBackend(int threads) {
        LibTorch.setThreads(threads);
    }

    @Override
    public int openRendezvous(String host) {
        GlooRendezvous opened = new GlooRendezvous(host);
        rendezvous = opened;
        return opened.port();
    }

    @Override
    public Communicators connect(ConnectOptions options) {
        return GlooCommunicators.connect(options);
    }

    @Override
    public Workload load(byte[] program, Map<String, String> options, @Nullable Communicators communicators) {
        ExecutionPlan plan = ExecutionPlanText.parse(new String(program, StandardCharsets.UTF_8));
        int rank = plan.workers().get(0).rank();
        return new TaskInterpreter(new TorchDevice(), plan, rank, options, communicators);
    }

    @Override
    public void close() {
        if (rendezvous != null) {
            rendezvous.close();
            rendezvous = null;
        }
    }
}

package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.testkit.ProcessCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two runs at once never write to one folder. */
class FolderClaimTest {
    private static final long DEADLINE_SECONDS = 60;

    @TempDir
    Path folder;

    /** Another process, which claims the folder that it is given until it is ended. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] args) throws Exception {
            FolderClaim claim = FolderClaim.of("run folder", Path.of(args[0]));
            System.out.println("claimed");
            Thread.sleep(TimeUnit.SECONDS.toMillis(10 * DEADLINE_SECONDS));
            claim.close();
        }
    }

    @Test
    void anotherProcessHasItUntilItIsKilled() throws Exception {
        Path run = folder.resolve("a/run");
        Process holder = CommandRun.java(32, Holder.class, run.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            assertThat(holder.inputReader().readLine()).isEqualTo("claimed");
            String told = "folder (" + run + ") must not be in use, but another run writes to it (process "
                    + holder.pid() + ").";
            assertThatThrownBy(() -> FolderClaim.of("run folder", run))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining(told);
            // Told before anything is planned.
            for (List<String> command : List.of(
                    List.of("train", "--run-folder", run.toString()),
                    List.of("verify", "--run-folder", run.toString()),
                    List.of("train", "--run-folder", folder.resolve("b").toString(), "--checkpoint", run.toString()))) {
                List<String> line = new ArrayList<>(command);
                line.add(1, "mlp:layers=2,hidden=16,batch=16");
                CommandRun ran = CommandRun.of(line.toArray(new String[0]));
                assertThat(ran.exitCode()).isEqualTo(2);
                assertThat(ran.err().lines().toList()).as(ran.err()).hasSize(2);
                assertThat(ran.err()).contains(told);
            }
            assertThat(folder.resolve("b")).doesNotExist();
            holder.destroyForcibly();
            assertThat(holder.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
            FolderClaim.of("run folder", run).close();
            // The folder was there before the claim.
            assertThat(run).isEmptyDirectory();
        } finally {
            holder.destroyForcibly();
            ProcessCluster.assertGone(List.of(holder.pid()));
        }
    }

    @Test
    void whatWasMadeForNothingGoesAway() throws IOException {
        Path deep = folder.resolve("x/y/z");
        try (FolderClaim claim = FolderClaim.of("run folder", deep)) {
            assertThat(deep).isDirectory();
            assertThatThrownBy(() -> FolderClaim.of("run folder", deep)).hasMessageContaining("must not be in use");
        }
        assertThat(folder).isEmptyDirectory();
        try (FolderClaim claim = FolderClaim.of("run folder", deep)) {
            Files.writeString(deep.resolve("kept"), "");
        }
        try (var kept = Files.list(deep)) {
            assertThat(kept).containsExactly(deep.resolve("kept"));
        }
    }

    @Test
    void manyThatComeAndGoHaveItOneAtATime() throws Exception {
        AtomicInteger holders = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        Callable<Integer> comeAndGo = () -> {
            int had = 0;
            for (int i = 0; i < 200; i++) {
                try (FolderClaim claim = FolderClaim.of("run folder", folder.resolve("one"))) {
                    assertThat(holders.incrementAndGet()).isEqualTo(1);
                    had++;
                    holders.decrementAndGet();
                } catch (UserError e) {
                    assertThat(e).hasMessageContaining("must not be in use");
                }
            }
            return had;
        };
        try {
            int all = 0;
            for (Future<Integer> had : threads.invokeAll(List.of(comeAndGo, comeAndGo, comeAndGo, comeAndGo))) {
                all += had.get();
            }
            assertThat(all).isPositive();
        } finally {
            threads.shutdownNow();
        }
        // An empty folder may be left, where each thought that another one had made it.
        Path one = folder.resolve("one");
        if (Files.exists(one)) {
            assertThat(one).isEmptyDirectory();
        }
    }
}

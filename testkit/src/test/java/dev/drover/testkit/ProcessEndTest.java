package dev.drover.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.runtime.launch.ProcessEnd;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The exit codes of real processes in words. */
class ProcessEndTest {
    private static ProcessEnd endOf(String script) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("sh", "-c", script).start();
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        return new ProcessEnd(process.exitValue());
    }

    @Test
    void signalsHaveNames() throws Exception {
        Map<String, String> adviceBySignal = Map.of(
                "KILL", "memory was short",
                "TERM", "job scheduler",
                "SEGV", "hs_err_pid",
                "ABRT", "hs_err_pid",
                "ILL", "hs_err_pid",
                "FPE", "hs_err_pid");
        for (Map.Entry<String, String> each : adviceBySignal.entrySet()) {
            ProcessEnd end = endOf("kill -" + each.getKey() + " $$");
            assertThat(end.text())
                    .isEqualTo("was ended by signal " + (end.code() - 128) + " (SIG" + each.getKey() + ", exit code "
                            + end.code() + ")");
            assertThat(end.maybe()).startsWith("Maybe ").endsWith(".").contains(each.getValue());
        }
        // These a process may have inherited as ignored: in the background of a shell, or under nohup.
        assertThat(new ProcessEnd(128 + 1).text()).isEqualTo("was ended by signal 1 (SIGHUP, exit code 129)");
        assertThat(new ProcessEnd(128 + 2).text()).isEqualTo("was ended by signal 2 (SIGINT, exit code 130)");
        assertThat(new ProcessEnd(128 + 2).maybe()).contains("job scheduler");
    }

    @Test
    void codesAreCodes() throws Exception {
        for (int code : new int[] {0, 1, 4, 127, 200}) {
            ProcessEnd end = endOf("exit " + code);
            assertThat(end.text()).isEqualTo("ended with exit code " + code);
            assertThat(end.maybe()).isEmpty();
        }
        assertThat(new ProcessEnd(128 + 29).text()).isEqualTo("was ended by signal 29 (exit code 157)");
    }
}

package dev.drover.runtime.launch;

import java.util.Map;

/** How a process ended, by its exit code; above 128 that is a signal's number. */
public record ProcessEnd(int code) {
    private static final int SIGNALLED = 128;
    private static final int KILLED = 9;

    /** Those with the same number on all systems. */
    private static final Map<Integer, String> NAME_BY_SIGNAL = Map.ofEntries(
            Map.entry(1, "SIGHUP"),
            Map.entry(2, "SIGINT"),
            Map.entry(3, "SIGQUIT"),
            Map.entry(4, "SIGILL"),
            Map.entry(6, "SIGABRT"),
            Map.entry(8, "SIGFPE"),
            Map.entry(KILLED, "SIGKILL"),
            Map.entry(11, "SIGSEGV"),
            Map.entry(13, "SIGPIPE"),
            Map.entry(15, "SIGTERM"));

    private int signal() {
        return code > SIGNALLED && code < SIGNALLED + 32 ? code - SIGNALLED : 0;
    }

    /** Such as {@code was ended by signal 9 (SIGKILL, exit code 137)}. */
    public String text() {
        int signal = signal();
        String name = NAME_BY_SIGNAL.get(signal);
        return signal == 0
                ? "ended with exit code " + code
                : "was ended by signal " + signal + " (" + (name == null ? "" : name + ", ") + "exit code " + code
                        + ")";
    }

    /** What may be behind it; empty where the log says more. */
    public String maybe() {
        return switch (signal()) {
            case KILLED -> "Maybe the system ended it because memory was short, which dmesg tells, or a person did.";
            case 1, 2, 15 -> "Maybe a person or a job scheduler ended it.";
            case 4, 6, 8, 11 -> "Maybe native code broke; its log names a file hs_err_pid*.log that tells where.";
            default -> "";
        };
    }
}

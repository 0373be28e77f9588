package dev.drover.cli;

import dev.drover.ir.FileReason;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where commands print, which remembers why a write failed: {@link PrintStream} does not. A reader that has ended, as in {@code | head},
 * has what it wanted; a full disk is a mistake.
 */
final class StandardOutput extends FilterOutputStream {
    /** What a shell tells of a program that wrote to a pipe without reader: 128 and the number of SIGPIPE. */
    static final int READER_ENDED = 141;

    private final @Nullable Path link;
    private @Nullable IOException problem;

    /**
     * A standard output.
     *
     * @param link that names what it is, where the system has such a thing
     */
    StandardOutput(OutputStream target, @Nullable Path link) {
        super(target);
        this.link = link;
    }

    /** That of this process. */
    static StandardOutput ofProcess() {
        return new StandardOutput(new FileOutputStream(FileDescriptor.out), Path.of("/proc/self/fd/1"));
    }

    /** To print to, in the encoding that Java takes for standard output. */
    PrintStream printer() {
        String encoding =
                System.getProperty("stdout.encoding", Charset.defaultCharset().name());
        return new PrintStream(new BufferedOutputStream(this), true, Charset.forName(encoding));
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        try {
            out.write(bytes, offset, length);
        } catch (IOException e) {
            problem = problem == null ? e : problem;
            throw e;
        }
    }

    /**
     * The exit code of a command that ended with another one, after everything was printed; tells a mistake.
     *
     * @param code of the command itself, which comes first if it is not 0
     */
    int exitCode(int code) {
        if (problem == null) {
            return code;
        }
        if (hasNoReader(problem)) {
            return code == 0 ? READER_ENDED : code;
        }
        System.err.println("drover: The standard output must take what the command prints, but "
                + FileReason.of(problem) + ".\nMaybe the disk is full, or the output was closed.");
        return code == 0 ? Main.USER_MISTAKE : code;
    }

    /** Where the system tells it in another language: what fails in a pipe is its reader. */
    private boolean hasNoReader(IOException problem) {
        if (String.valueOf(problem.getMessage()).contains("Broken pipe")) {
            return true;
        }
        try {
            return link != null && Files.readSymbolicLink(link).toString().startsWith("pipe:");
        } catch (IOException | UnsupportedOperationException e) {
            // A system that does not say what its files are: the failure is told.
            return false;
        }
    }
}

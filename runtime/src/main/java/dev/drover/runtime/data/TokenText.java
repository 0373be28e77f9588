package dev.drover.runtime.data;

import dev.drover.ir.FileReason;
import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.init.Philox;
import dev.drover.ir.type.ArrayShape;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Text as tokens, a byte each. Row r of step s is a window that begins at a place drawn by counter (s, r): inputs and labels of one
 * seed come from the same places, labels one token later.
 */
public final class TokenText {
    private static final long MOST_BYTES = Integer.MAX_VALUE - 64;

    private final byte[] text;
    private final String source;
    private final long seed;

    private TokenText(byte[] text, String source, long seed) {
        this.text = text;
        this.source = source;
        this.seed = seed;
    }

    /** Text that is at hand. */
    public static TokenText of(byte[] text, long seed) {
        return new TokenText(text.clone(), "given", seed);
    }

    /** A file, or all {@code .md} and {@code .txt} files below a folder in the order of their names. */
    public static TokenText read(Path path, long seed) {
        try {
            if (!Files.isDirectory(path)) {
                checkSize(path, Files.size(path));
                return new TokenText(Files.readAllBytes(path), path.toString(), seed);
            }
            List<Path> files;
            try (Stream<Path> walk = Files.walk(path)) {
                files = walk.filter(f -> f.toString().matches(".*\\.(md|txt)") && Files.isRegularFile(f))
                        .sorted()
                        .toList();
            }
            if (files.isEmpty()) {
                throw new UserError(
                        "The data folder (" + path + ") must hold .txt or .md files, but has none.",
                        "Maybe name a file of another kind by itself.");
            }
            long size = 0;
            for (Path file : files) {
                size += Files.size(file);
                checkSize(path, size);
            }
            List<byte[]> parts = new ArrayList<>();
            for (Path file : files) {
                parts.add(Files.readAllBytes(file));
            }
            byte[] all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
            int at = 0;
            for (byte[] part : parts) {
                System.arraycopy(part, 0, all, at, part.length);
                at += part.length;
            }
            return new TokenText(all, path.toString(), seed);
        } catch (NoSuchFileException e) {
            throw new UserError(
                    "The data file (" + path + ") must exist.", "Maybe the path is relative to another folder.");
        } catch (IOException e) {
            throw unreadable(path, e);
        } catch (UncheckedIOException e) {
            IOException cause = e.getCause();
            throw unreadable(path, cause == null ? new IOException(e) : cause);
        }
    }

    private static UserError unreadable(Path path, IOException e) {
        return new UserError("The data file (" + path + ") must be readable, but " + FileReason.of(e) + ".", e);
    }

    /** Text is kept in one array. */
    private static void checkSize(Path path, long bytes) {
        if (bytes > MOST_BYTES) {
            throw new UserError(
                    "The size (" + bytes + " bytes) of data (" + path + ") must be at most " + MOST_BYTES + " bytes.",
                    "Maybe give a part of it.");
        }
    }

    /** Bytes of text. */
    public int size() {
        return text.length;
    }

    /**
     * Windows as a batch input.
     *
     * @param shape {@code [batch, seq]}, an integer type
     * @param shift 0 for inputs, 1 for labels
     * @param limit tokens are taken modulo this
     */
    public BatchSource windows(ArrayShape shape, int shift, long limit) {
        if (shape.rank() != 2) {
            throw new UserError("The shape (" + shape + ") of a token input must be [batch, seq].");
        }
        int length = Math.toIntExact(shape.dim(1));
        if (text.length < length + 2) {
            throw new UserError(
                    "The size (" + text.length + " bytes) of text (" + source + ") must be at least " + (length + 2L)
                            + " bytes, one more than the " + length + " tokens of a sequence and their labels.",
                    "Maybe give a longer file with --data, or a smaller seq.");
        }
        return step -> {
            long[] tokens = new long[Math.toIntExact(shape.elements())];
            int[] words = new int[4];
            for (int row = 0; row < shape.dim(0); row++) {
                Philox.block(seed, step, row, words);
                long draw = (words[0] & 0xffffffffL) << 16 ^ (words[1] & 0xffffffffL);
                int start = (int) (draw % (text.length - length - 1));
                for (int i = 0; i < length; i++) {
                    tokens[row * length + i] = (text[start + shift + i] & 0xff) % limit;
                }
            }
            return Literal.ofLongs(shape, tokens);
        };
    }
}

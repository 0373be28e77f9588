package dev.drover.bench;

import dev.drover.runtime.launch.LocalLauncher;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** PyTorch eager, in one process or as ranks of DistributedDataParallel. */
final class PythonPeer implements Contender {
    private static final Pattern NUMBER = Pattern.compile("\"(\\w+)\": \"?([^,\"}]+)");
    private static final List<String> SHAPE = List.of("vocab", "seq", "hidden", "heads", "layers", "batch", "threads");

    private record Rank(Process process, BufferedReader lines, BufferedWriter input) {}

    private final String name;
    private final Path script;
    private final Path store;
    private final List<Rank> ranks = new ArrayList<>();
    private String version = "";

    /** @param variant words among {@code sdpa} and {@code fused} (the optimizer) */
    PythonPeer(Map<String, String> options, String variant, int world) throws IOException {
        this.name = (world == 1 ? "eager " : "ddp ") + variant;
        this.script = Files.createTempFile("gpt_peer", ".py");
        this.store = Files.createTempDirectory("gpt_peer").resolve("store");
        try (InputStream text = PythonPeer.class.getResourceAsStream("gpt_peer.py")) {
            if (text == null) {
                throw new IllegalStateException("The resource (gpt_peer.py) must be on the class path.");
            }
            Files.write(script, text.readAllBytes());
        }
        for (int rank = 0; rank < world; rank++) {
            List<String> command =
                    new ArrayList<>(List.of(options.getOrDefault("python", "python3"), script.toString()));
            SHAPE.forEach(key -> command.add(key + "=" + options.getOrDefault(key, "")));
            command.addAll(List.of("variant=" + variant, "world=" + world, "rank=" + rank, "store=" + store));
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
            // A peer has libtorch's own defaults; what is set for the Java side is not for it.
            builder.environment()
                    .keySet()
                    .removeAll(LocalLauncher.threadEnvironment(2).keySet());
            Process process = builder.start();
            ranks.add(new Rank(
                    process,
                    process.inputReader(StandardCharsets.UTF_8),
                    process.outputWriter(StandardCharsets.UTF_8)));
        }
        for (Rank rank : ranks) {
            version = text(read(rank), "version");
        }
    }

    String version() {
        return version;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Turn step() throws IOException {
        for (Rank rank : ranks) {
            rank.input.write("step\n");
            rank.input.flush();
        }
        double wall = 0;
        double cpu = 0;
        for (Rank rank : ranks) {
            String line = read(rank);
            wall = Math.max(wall, Double.parseDouble(text(line, "wallMillis")));
            cpu += Double.parseDouble(text(line, "cpuMillis"));
        }
        return new Turn(wall, cpu);
    }

    /** The next JSON line; Gloo writes other lines. */
    private static String read(Rank rank) throws IOException {
        for (String line = rank.lines.readLine(); line != null; line = rank.lines.readLine()) {
            if (line.startsWith("{")) {
                return line;
            }
        }
        throw new IOException("The peer must answer. Maybe give python=PATH of a Python with PyTorch, or python=none.");
    }

    private static String text(String line, String name) {
        Matcher matcher = NUMBER.matcher(line);
        while (matcher.find()) {
            if (matcher.group(1).equals(name)) {
                return matcher.group(2);
            }
        }
        throw new IllegalStateException("The answer (" + line + ") must have (" + name + ").");
    }

    @Override
    public void close() {
        try {
            for (Rank rank : ranks) {
                rank.input.close();
            }
            for (Rank rank : ranks) {
                if (!rank.process.waitFor(10, TimeUnit.SECONDS)) {
                    rank.process.destroyForcibly();
                }
            }
            Files.deleteIfExists(script);
            Files.deleteIfExists(store);
            Files.deleteIfExists(store.getParent());
        } catch (IOException e) {
            ranks.forEach(rank -> rank.process.destroyForcibly());
        } catch (InterruptedException e) {
            ranks.forEach(rank -> rank.process.destroyForcibly());
            Thread.currentThread().interrupt();
        }
    }
}

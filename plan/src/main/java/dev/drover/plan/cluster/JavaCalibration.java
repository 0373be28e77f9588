package dev.drover.plan.cluster;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Measures this machine in plain Java: what the reference evaluator could reach, in about a second. */
public final class JavaCalibration implements Calibration {
    private static final int N = 192;
    private static final int BUFFER_BYTES = 1 << 20;
    private static final int ROUNDS = 64;

    @Override
    public Figures measure() {
        double[] loopback = loopback();
        return new Figures(
                Runtime.getRuntime().availableProcessors(),
                Map.of("f32", matrixFlopsPerSecond()),
                Runtime.getRuntime().maxMemory(),
                copyBytesPerSecond(),
                2_000,
                loopback[0],
                (long) loopback[1]);
    }

    private static double matrixFlopsPerSecond() {
        float[] a = new float[N * N];
        float[] b = new float[N * N];
        float[] c = new float[N * N];
        java.util.Arrays.fill(a, 0.5f);
        java.util.Arrays.fill(b, 0.25f);
        double best = 1;
        for (int round = 0; round < 12; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < N; i++) {
                for (int k = 0; k < N; k++) {
                    float factor = a[i * N + k];
                    for (int j = 0; j < N; j++) {
                        c[i * N + j] += factor * b[k * N + j];
                    }
                }
            }
            best = Math.max(best, 2.0 * N * N * N * 1e9 / Math.max(1, System.nanoTime() - start));
        }
        if (Float.isNaN(c[0])) {
            throw new IllegalStateException("The product must be finite.");
        }
        return best;
    }

    private static double copyBytesPerSecond() {
        byte[] from = new byte[32 * BUFFER_BYTES];
        byte[] to = new byte[from.length];
        double best = 1;
        for (int round = 0; round < 8; round++) {
            long start = System.nanoTime();
            System.arraycopy(from, 0, to, 0, from.length);
            best = Math.max(best, 2.0 * from.length * 1e9 / Math.max(1, System.nanoTime() - start));
        }
        return best;
    }

    /** Bytes per second of a stream and nanoseconds of half a round trip, over loopback TCP. */
    private static double[] loopback() {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            server.setSoTimeout(10_000);
            CompletableFuture<Void> echo = CompletableFuture.runAsync(() -> {
                try (Socket peer = server.accept()) {
                    peer.setTcpNoDelay(true);
                    DataInputStream in = new DataInputStream(peer.getInputStream());
                    DataOutputStream out = new DataOutputStream(peer.getOutputStream());
                    byte[] buffer = new byte[BUFFER_BYTES];
                    for (int round = 0; round < ROUNDS; round++) {
                        in.readFully(buffer);
                    }
                    for (int round = 0; round <= ROUNDS; round++) {
                        out.writeByte(in.readByte());
                        out.flush();
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                socket.setTcpNoDelay(true);
                socket.setSoTimeout(10_000);
                DataInputStream in = new DataInputStream(socket.getInputStream());
                DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                byte[] buffer = new byte[BUFFER_BYTES];
                long start = System.nanoTime();
                for (int round = 0; round < ROUNDS; round++) {
                    out.write(buffer);
                }
                out.flush();
                out.writeByte(1);
                out.flush();
                in.readByte();
                double bytesPerSecond = (double) BUFFER_BYTES * ROUNDS * 1e9 / (System.nanoTime() - start);
                long best = Long.MAX_VALUE;
                for (int round = 0; round < ROUNDS; round++) {
                    long at = System.nanoTime();
                    out.writeByte(1);
                    out.flush();
                    in.readByte();
                    best = Math.min(best, System.nanoTime() - at);
                }
                echo.join();
                return new double[] {bytesPerSecond, best / 2.0};
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The loopback interface must carry a TCP connection.", e);
        }
    }
}

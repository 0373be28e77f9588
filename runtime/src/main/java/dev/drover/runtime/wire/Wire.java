package dev.drover.runtime.wire;

import com.google.protobuf.UnsafeByteOperations;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.wire.proto.TensorPiece;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** How servers, channels and tensors are set up on the control plane, the same on both sides. */
public final class Wire {

    /** Programs travel in one message; tensors in pieces. */
    private static final int MAX_MESSAGE_BYTES = 1 << 30;

    private static final int IDLE_SECONDS = 10;
    private static final int UNANSWERED_SECONDS = 20;
    /** After so long without any answer a connection is given up, in the words of the library that does it. */
    public static final Duration GIVEN_UP_AFTER = Duration.ofSeconds(IDLE_SECONDS + UNANSWERED_SECONDS);

    private Wire() {}

    /**
     * Starts a server.
     *
     * @param port 0 for any that is free
     * @throws IOException when the port is in use
     */
    public static Server serve(String host, int port, String token, Executor executor, BindableService service)
            throws IOException {
        return NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
                .addService(service)
                .intercept(Token.checker(token))
                .executor(executor)
                .maxInboundMessageSize(MAX_MESSAGE_BYTES)
                .permitKeepAliveTime(1, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .build()
                .start();
    }

    /** Opens a channel; it connects at the first call. */
    public static ManagedChannel connect(String host, int port, String token) {
        return NettyChannelBuilder.forAddress(new InetSocketAddress(host, port))
                .usePlaintext()
                .intercept(Token.sender(token))
                .maxInboundMessageSize(MAX_MESSAGE_BYTES)
                .keepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(UNANSWERED_SECONDS, TimeUnit.SECONDS)
                .build();
    }

    /** Bytes of a tensor, from {@code offset} on. They are not copied. */
    public static TensorPiece piece(String name, ArrayShape shape, long offset, ByteBuffer bytes) {
        TensorPiece.Builder piece = TensorPiece.newBuilder()
                .setName(name)
                .setDtype(shape.dtype().hloName())
                .setOffset(offset)
                .setSizeBytes(shape.sizeBytes())
                .setData(UnsafeByteOperations.unsafeWrap(bytes));
        for (long dim : shape.dims()) {
            piece.addDims(dim);
        }
        return piece.build();
    }

    /** The shape of the whole tensor that a piece belongs to. */
    public static ArrayShape shape(TensorPiece piece) {
        DType dtype = DType.byHloName(piece.getDtype());
        if (dtype == null) {
            throw new IllegalArgumentException(
                    "The dtype (" + piece.getDtype() + ") of value (" + piece.getName() + ") must be known.");
        }
        return ArrayShape.of(
                dtype, piece.getDimsList().stream().mapToLong(Long::longValue).toArray());
    }
}

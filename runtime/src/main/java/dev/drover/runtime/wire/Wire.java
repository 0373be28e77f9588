package dev.drover.runtime.wire;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.wire.proto.PutRequest;
import dev.drover.runtime.wire.proto.TensorPiece;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** How servers, channels and tensors are set up on the control plane, the same on both sides. */
public final class Wire {

    /** Programs travel in one message; tensors in pieces of {@link #PIECE_BYTES}. */
    private static final int MAX_MESSAGE_BYTES = 1 << 30;

    public static final int PIECE_BYTES = 8 << 20;

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
                .keepAliveTime(10, TimeUnit.SECONDS)
                .keepAliveTimeout(20, TimeUnit.SECONDS)
                .build();
    }

    /** The bytes {@code [offset, offset + maxBytes)} of a tensor, or what there is of them. */
    public static TensorPiece piece(String name, HostTensor tensor, long offset, long maxBytes) {
        ByteBuffer data = tensor.data();
        data.position(Math.toIntExact(offset));
        data.limit((int) Math.min(data.limit(), offset + maxBytes));
        TensorPiece.Builder piece = TensorPiece.newBuilder()
                .setName(name)
                .setDtype(tensor.shape().dtype().hloName())
                .setOffset(offset)
                .setSizeBytes(tensor.shape().sizeBytes())
                .setData(UnsafeByteOperations.unsafeWrap(data.slice()));
        for (long dim : tensor.shape().dims()) {
            piece.addDims(dim);
        }
        return piece.build();
    }

    /** All pieces of a tensor, in order; at least one. */
    public static List<TensorPiece> pieces(String name, HostTensor tensor) {
        List<TensorPiece> pieces = new ArrayList<>();
        long offset = 0;
        do {
            pieces.add(piece(name, tensor, offset, PIECE_BYTES));
            offset += PIECE_BYTES;
        } while (offset < tensor.shape().sizeBytes());
        return pieces;
    }

    /** Pieces in as few requests as they fit in. */
    public static List<PutRequest> requests(List<TensorPiece> pieces) {
        List<PutRequest> requests = new ArrayList<>();
        PutRequest.Builder request = PutRequest.newBuilder();
        long bytes = 0;
        for (TensorPiece piece : pieces) {
            if (bytes + piece.getData().size() > PIECE_BYTES && request.getPiecesCount() > 0) {
                requests.add(request.build());
                request.clear();
                bytes = 0;
            }
            request.addPieces(piece);
            bytes += piece.getData().size();
        }
        if (request.getPiecesCount() > 0) {
            requests.add(request.build());
        }
        return requests;
    }

    /** The whole tensor that a piece belongs to, still empty. */
    public static HostTensor allocateFor(TensorPiece piece) {
        DType dtype = DType.byHloName(piece.getDtype());
        if (dtype == null) {
            throw new IllegalArgumentException(
                    "The dtype (" + piece.getDtype() + ") of value (" + piece.getName() + ") must be known.");
        }
        long[] dims = piece.getDimsList().stream().mapToLong(Long::longValue).toArray();
        return HostTensor.allocate(ArrayShape.of(dtype, dims));
    }

    /** Copies a piece to its place. */
    public static void copy(TensorPiece piece, HostTensor to) {
        ByteString data = piece.getData();
        data.copyTo(to.data().position(Math.toIntExact(piece.getOffset())));
    }
}

package dev.drover.runtime.wire;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;

/** The secret that all processes of one run share: keeps other users' and other runs' processes out. */
public final class Token {

    private static final Metadata.Key<String> KEY = Metadata.Key.of("drover-token", Metadata.ASCII_STRING_MARSHALLER);

    private Token() {}

    public static String random() {
        byte[] bytes = new byte[16];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** Adds the token to each call. */
    public static ClientInterceptor sender(String token) {
        return new ClientInterceptor() {
            @Override
            public <Q, A> ClientCall<Q, A> interceptCall(
                    MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
                return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
                    @Override
                    public void start(Listener<A> listener, Metadata headers) {
                        headers.put(KEY, token);
                        super.start(listener, headers);
                    }
                };
            }
        };
    }

    /** Refuses calls without the token. */
    public static ServerInterceptor checker(String token) {
        byte[] expected = token.getBytes(StandardCharsets.US_ASCII);
        return new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(
                    ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
                String actual = headers.get(KEY);
                if (actual == null || !MessageDigest.isEqual(expected, actual.getBytes(StandardCharsets.US_ASCII))) {
                    call.close(
                            Status.UNAUTHENTICATED.withDescription("The token must be that of this run."),
                            new Metadata());
                    return new ServerCall.Listener<>() {};
                }
                return next.startCall(call, headers);
            }
        };
    }
}

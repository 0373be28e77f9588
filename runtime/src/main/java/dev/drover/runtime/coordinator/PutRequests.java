package dev.drover.runtime.coordinator;

import dev.drover.runtime.coordinator.Cluster.Put;
import dev.drover.runtime.wire.Wire;
import dev.drover.runtime.wire.proto.PutRequest;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * Values for one worker as requests, each made when it is asked for. Small values share one; a large one is cut into pieces.
 */
final class PutRequests implements Iterator<PutRequest> {
    private final List<Put> puts;
    private final int pieceBytes;
    private int next;
    private long offset;

    PutRequests(List<Put> puts, int pieceBytes) {
        this.puts = puts;
        this.pieceBytes = pieceBytes;
    }

    @Override
    public boolean hasNext() {
        return next < puts.size();
    }

    @Override
    public PutRequest next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        PutRequest.Builder request = PutRequest.newBuilder();
        long bytes = 0;
        while (next < puts.size()) {
            Put put = puts.get(next);
            long left = put.shape().sizeBytes() - offset;
            int size = (int) Math.min(pieceBytes, left);
            if (bytes + size > pieceBytes && request.getPiecesCount() > 0) {
                break;
            }
            request.addPieces(
                    Wire.piece(put.name(), put.shape(), offset, put.value().bytes(offset, size)));
            bytes += size;
            offset += size;
            if (size == left) {
                next++;
                offset = 0;
            }
        }
        return request.build();
    }
}

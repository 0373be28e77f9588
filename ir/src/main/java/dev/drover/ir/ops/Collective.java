package dev.drover.ir.ops;

import java.util.List;

/** An op by which devices exchange values; its channel says which take part together. */
public interface Collective extends Op {

    /** Who takes part. */
    Channel channel();

    /** The devices, of so many, that take part together with this one; this one alone if it takes no part. */
    default List<Integer> members(int device, int devices) {
        return channel().groups().groupOf(device, devices);
    }
}

package dev.drover.ir.pass;

import dev.drover.ir.graph.Instruction;
import java.util.List;

/** What stands for an old value in a new computation: an instruction, or a tuple that nobody has made yet. */
sealed interface Tree {

    /** A value that is there; its shape may be a tuple. */
    record Leaf(Instruction instruction) implements Tree {}

    /** The elements of a tuple. */
    record Node(List<Tree> elements) implements Tree {
        public Node {
            elements = List.copyOf(elements);
        }
    }
}

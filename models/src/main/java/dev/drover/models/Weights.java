package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.Distribution;

/** Gives a model its parameters by name. */
interface Weights {

    /** The parameter of this name, declared by the first use. */
    Instruction get(String name, Distribution distribution, long... dims);
}

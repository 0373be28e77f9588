package dev.drover.ir.init;

import dev.drover.ir.type.ArrayShape;

/**
 * What one input holds before the first step, as a rule. {@link InitialValues} makes the numbers.
 *
 * @param name the input's name, as in its role
 * @param shape the whole input's shape
 * @param distribution of each element
 * @param key tells inputs of one model apart: different keys give independent numbers
 */
public record InitialValue(String name, ArrayShape shape, Distribution distribution, long key) {

    /** With the key that {@link #keyOf} gives the name. */
    public InitialValue(String name, ArrayShape shape, Distribution distribution) {
        this(name, shape, distribution, keyOf(name));
    }

    public InitialValue {
        if (!(distribution instanceof Distribution.Constant || distribution instanceof Distribution.Integers)
                && !shape.dtype().isFloat()) {
            throw new IllegalArgumentException("The type (" + shape.dtype().hloName() + ") of input (" + name
                    + ") must be a float to be " + distribution + ".");
        }
    }

    /** A key from a name: FNV-1a of its UTF-16 units, so that it depends on no other input and no order. */
    public static long keyOf(String name) {
        long hash = 0xcbf29ce484222325L;
        for (int i = 0; i < name.length(); i++) {
            hash = (hash ^ name.charAt(i)) * 0x100000001b3L;
        }
        return hash;
    }
}

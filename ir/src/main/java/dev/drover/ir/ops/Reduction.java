package dev.drover.ir.ops;

/** How partial values are combined. */
public enum Reduction {
    SUM,
    PROD,
    MIN,
    MAX,
    AND,
    OR
}

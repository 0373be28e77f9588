package dev.drover.ir.ops;

/** Part k of n reads what part n - 1 - k holds (reverse). */
record Mirror(long size) implements Exchange {
    @Override
    public boolean cutsInto(long parts) {
        return parts > 1 && size % parts == 0;
    }
}

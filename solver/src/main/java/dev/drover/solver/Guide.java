package dev.drover.solver;

/** What the thread of the bound tells the others; the arrays are never written after they are handed over. */
final class Guide {
    private volatile double[] prices;
    private volatile int[] decoded;
    private volatile int[] lively = new int[0];

    Guide(Core core) {
        prices = new double[core.rows];
        decoded = new int[core.size];
    }

    /** Takes new prices of the rows and the choice decoded at them. */
    void set(double[] newPrices, int[] newDecoded) {
        prices = newPrices;
        decoded = newDecoded;
    }

    /** Takes the variables whose decoded value changed lately. */
    void setLively(int[] variables) {
        lively = variables;
    }

    int[] lively() {
        return lively;
    }

    double[] prices() {
        return prices;
    }

    int[] decoded() {
        return decoded;
    }
}

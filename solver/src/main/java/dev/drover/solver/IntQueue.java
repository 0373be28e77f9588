package dev.drover.solver;

/** A queue of integers. */
final class IntQueue {
    private int[] values = new int[64];
    private int head;
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    void add(int value) {
        if (count == values.length) {
            int[] larger = new int[2 * count];
            int first = count - head;
            System.arraycopy(values, head, larger, 0, first);
            System.arraycopy(values, 0, larger, first, head);
            values = larger;
            head = 0;
        }
        values[(head + count) & (values.length - 1)] = value;
        count++;
    }

    /** Takes out the first; there must be one. */
    int poll() {
        int value = values[head];
        head = (head + 1) & (values.length - 1);
        count--;
        return value;
    }
}

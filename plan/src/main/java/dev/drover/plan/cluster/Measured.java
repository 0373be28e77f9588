package dev.drover.plan.cluster;

import dev.drover.ir.UserError;
import dev.drover.plan.Wanted;
import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * What was measured on the devices of one machine while all of them worked: times by size, for kinds of work.
 *
 * <pre>
 *   kernel            1            each call of a kernel, however small
 *   dot               flops        a product of matrices, the call included
 *   convolution       flops        the mean of a convolution and its two gradients
 *   pass              bytes        read and written by a kernel that computes little
 *   chain             elements     an addition or the like in a chain of elementwise ops, beside the pass
 *   division          elements     a division or square root in such a chain
 *   transcendental    elements     an exponential or the like, beside the pass
 *   first-call        1            a kernel's first call after other work, beside what it takes when repeated
 *   send              bytes        what a message between stages costs the sender's computing
 *   all-reduce/N      bytes        among N devices, all groups at the same time
 *   all-reduce-work/N bytes        what it takes of the computing of each
 *   processor         nanoseconds  of a processor that so much computing takes; less where the runtime and messages take turns with it
 *   delay             1            thousandths: computing's time over its processor time; above 1000 if other work was on the machine
 * </pre>
 *
 * @param processors that the devices of a host share: when fewer devices than all compute, they are faster; 0 if each has its own
 * @param nanosBySizeByKind empty for devices that were not measured
 */
public record Measured(int processors, SortedMap<String, SortedMap<Long, Double>> nanosBySizeByKind) {

    /** Kind of {@link #processorNanos}. */
    public static final String PROCESSOR = "processor";

    /** Kind that tells of other work. */
    public static final String DELAY = "delay";

    /** Kind of products of matrices. */
    public static final String DOT = "dot";

    /** Kind of convolutions. */
    public static final String CONVOLUTION = "convolution";

    /** Kinds of collectives, with the number of devices behind. */
    public static final String ALL_REDUCE = "all-reduce/";

    /** Kinds of what collectives take of the computing. */
    public static final String ALL_REDUCE_WORK = "all-reduce-work/";

    /** Nothing. */
    public static final Measured NONE = new Measured(0, Collections.emptySortedMap());

    public Measured {
        Wanted.atLeast("processors", processors, 0);
        nanosBySizeByKind.forEach((kind, nanos) -> {
            if (nanos.isEmpty()) {
                throw new UserError("The times of " + kind + " must be one at least.");
            }
            nanos.forEach((size, time) -> {
                Wanted.atLeast("size of " + kind, size, 1);
                Wanted.nanos("nanosBySizeByKind." + kind + "." + size, time, "measured work");
            });
        });
        SortedMap<String, SortedMap<Long, Double>> copy = new TreeMap<>();
        nanosBySizeByKind.forEach(
                (kind, nanos) -> copy.put(kind, Collections.unmodifiableSortedMap(new TreeMap<>(nanos))));
        nanosBySizeByKind = Collections.unmodifiableSortedMap(copy);
    }

    /** Time of a processor of its own that computing takes, which takes so long where {@code devices} of a host compute. */
    public double processorNanos(double computingNanos, int devices) {
        double own = processors == 0 ? computingNanos : computingNanos * Math.min(1, (double) processors / devices);
        return knows(PROCESSOR) ? nanos(PROCESSOR, own) : own;
    }

    /** Where everything takes {@code factor} times as long; computing gets the same share of the processors. */
    public Measured stretched(double factor) {
        return stretched(kind -> !kind.equals(PROCESSOR) && !kind.equals(DELAY), factor);
    }

    /** Where work of some kinds takes {@code factor} times as long. */
    public Measured stretched(Predicate<String> kinds, double factor) {
        SortedMap<String, SortedMap<Long, Double>> nanos = new TreeMap<>(nanosBySizeByKind);
        nanos.replaceAll((kind, times) -> {
            SortedMap<Long, Double> longer = new TreeMap<>(times);
            if (kinds.test(kind)) {
                longer.replaceAll((size, time) -> (double) Math.round(time * factor));
            }
            return longer;
        });
        return new Measured(processors, nanos);
    }

    /** Where computing has a processor for {@code share} of the time that it takes. */
    public Measured withProcessor(double share) {
        return with(PROCESSOR, 1_000_000L, 1e6 * share);
    }

    /** Where computing took {@code ratio} times its processor time while it was measured. */
    public Measured withDelay(double ratio) {
        return with(DELAY, 1, 1e3 * ratio);
    }

    /** The ratio of {@link #withDelay}; 1 if it is not known. */
    public double delay() {
        return knows(DELAY) ? nanos(DELAY, 1) / 1e3 : 1;
    }

    private Measured with(String kind, long size, double nanosOfKind) {
        SortedMap<String, SortedMap<Long, Double>> nanos = new TreeMap<>(nanosBySizeByKind);
        nanos.put(kind, new TreeMap<>(Map.of(size, (double) Math.round(nanosOfKind))));
        return new Measured(processors, nanos);
    }

    /** Whether a kind of work was measured. */
    public boolean knows(String kind) {
        return nanosBySizeByKind.containsKey(kind);
    }

    /**
     * Time of work of some size: in proportion where one size was measured; else between two measured sizes on the line through them in
     * logarithms, below the smallest as long as that, above the largest in proportion to it.
     */
    public double nanos(String kind, double size) {
        SortedMap<Long, Double> samples = nanosBySizeByKind.get(kind);
        if (samples == null || samples.isEmpty()) {
            throw new IllegalArgumentException(
                    "The kind (" + kind + ") of work must be one of " + nanosBySizeByKind.keySet() + ".");
        }
        long largest = samples.lastKey();
        double largestNanos = samples.getOrDefault(largest, 0.0);
        if (size >= largest || samples.size() == 1) {
            return largestNanos * size / largest;
        }
        Map.Entry<Long, Double> below = null;
        for (Map.Entry<Long, Double> sample : samples.entrySet()) {
            if (sample.getKey() > size) {
                return below == null ? sample.getValue() : between(below, sample, size);
            }
            below = sample;
        }
        return largestNanos;
    }

    private static double between(Map.Entry<Long, Double> below, Map.Entry<Long, Double> above, double size) {
        double share = Math.log(size / below.getKey()) / Math.log((double) above.getKey() / below.getKey());
        double from = Math.max(1e-3, below.getValue());
        return from * Math.pow(Math.max(1e-3, above.getValue()) / from, share);
    }
}

package dev.drover.planner.search;

import dev.drover.ir.UserError;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The layouts that a search tries: factorisations stages x mesh of the devices (Rhino, strategy exploration), meshes of at most two
 * axes, the most promising first.
 */
public final class Layouts {
    private static final int MOST_BY_STAGE = 8;

    private Layouts() {}

    /**
     * Lists layouts that use all devices and fit the options.
     *
     * @param batch samples in a step; micro-batches divide it
     */
    static List<Layout> of(int devices, long batch, SearchOptions options) {
        check(devices, batch, options);
        List<Layout> out = new ArrayList<>();
        for (int stages = 1; stages <= devices; stages++) {
            if (devices % stages != 0 || (options.stages() != null && options.stages() != stages)) {
                continue;
            }
            for (Mesh mesh : meshes(devices / stages, options)) {
                for (int microBatches : microBatches(stages, batch, options)) {
                    out.add(new Layout(stages, mesh, microBatches, schedule(options)));
                }
            }
        }
        return out;
    }

    /** A layout that uses all devices, by chance: any stages and mesh, 1, 2 or 4 micro-batches, GPipe or 1F1B. */
    public static Layout draw(int devices, Random random) {
        List<Layout> layouts = new ArrayList<>();
        for (int stages = 1; stages <= devices; stages++) {
            if (devices % stages == 0) {
                for (Mesh mesh : meshes(devices / stages, SearchOptions.OPEN)) {
                    layouts.add(new Layout(stages, mesh, 1, "1f1b"));
                }
            }
        }
        Layout drawn = layouts.get(random.nextInt(layouts.size()));
        return new Layout(
                drawn.stages(), drawn.mesh(), 1 << random.nextInt(3), random.nextBoolean() ? "1f1b" : "gpipe");
    }

    private static String schedule(SearchOptions options) {
        String wanted = options.schedule();
        return Schedules.byName(wanted == null ? "1f1b" : wanted).name();
    }

    private static void check(int devices, long batch, SearchOptions options) {
        Integer stages = options.stages();
        List<Integer> mesh = options.mesh();
        Integer microBatches = options.microBatches();
        if (stages != null && (stages < 1 || stages > devices)) {
            throw new UserError(
                    "The stages (" + stages + ") of a plan must be at least 1 and at most the devices (" + devices
                            + ").",
                    stages < 1
                            ? "Maybe use --stages 1, or leave it out."
                            : "Maybe use --stages " + devices + " or more devices.");
        }
        if (mesh != null) {
            long meshDevices = mesh.stream().mapToLong(Integer::longValue).reduce(1, (a, b) -> a * b);
            if (mesh.size() > 2 || mesh.stream().anyMatch(size -> size < 1)) {
                throw new UserError(
                        "The mesh (" + text(mesh) + ") of a plan must have one or two axes of at least 1 device.");
            }
            if (devices % meshDevices != 0) {
                throw new UserError(
                        "The devices (" + meshDevices + ") of mesh (" + text(mesh) + ") must divide the devices ("
                                + devices + ") of the cluster.",
                        "Maybe use --mesh " + nearestDivisor(devices, meshDevices) + ".");
            }
            if (stages != null && stages * meshDevices != devices) {
                throw new UserError(
                        "The stages (" + stages + ") times the devices (" + meshDevices + ") of mesh (" + text(mesh)
                                + ") must be the devices (" + devices + ") of the cluster.",
                        "Maybe use --stages " + devices / meshDevices + ", or leave out one of the two.");
            }
        }
        if (stages != null && devices % stages != 0) {
            int below = stages;
            int above = stages;
            while (devices % below != 0) {
                below--;
            }
            while (devices % above != 0) {
                above++;
            }
            throw new UserError(
                    "The stages (" + stages + ") of a plan must divide the devices (" + devices + ").",
                    "Maybe use --stages " + below + " or --stages " + above + ".");
        }
        if (microBatches != null && microBatches < 1) {
            throw new UserError("The micro-batches (" + microBatches + ") of a plan must be at least 1.");
        }
        if (microBatches != null && batch % microBatches != 0) {
            throw new UserError(
                    "The micro-batches (" + microBatches + ") of a plan must divide the batch (" + batch + ").",
                    "Maybe use --micro-batches " + nearestDivisor(batch, microBatches) + ".");
        }
    }

    /** As it is written on the command line. */
    private static String text(List<Integer> mesh) {
        return mesh.stream().map(String::valueOf).collect(Collectors.joining("x"));
    }

    /** The smaller one of two that are equally near. Divisors come in pairs, so few numbers are tried however large the batch is. */
    private static long nearestDivisor(long batch, long wanted) {
        long best = 1;
        for (long d = 1; d <= batch / d; d++) {
            if (batch % d == 0) {
                best = nearer(nearer(best, d, wanted), batch / d, wanted);
            }
        }
        return best;
    }

    private static long nearer(long a, long b, long wanted) {
        int farther = Long.compare(Math.abs(a - wanted), Math.abs(b - wanted));
        return farther < 0 || farther == 0 && a < b ? a : b;
    }

    private static List<Mesh> meshes(int devices, SearchOptions options) {
        List<Integer> wanted = options.mesh();
        if (wanted != null) {
            long product = wanted.stream().mapToLong(Integer::longValue).reduce(1, (a, b) -> a * b);
            int[] sizes = wanted.stream()
                    .filter(s -> s > 1)
                    .mapToInt(Integer::intValue)
                    .toArray();
            return product == devices ? List.of(Mesh.of(sizes)) : List.of();
        }
        List<Mesh> out = new ArrayList<>();
        out.add(devices == 1 ? Mesh.of() : Mesh.of(devices));
        for (int first = 2; first * 2 <= devices; first++) {
            if (devices % first == 0) {
                out.add(Mesh.of(first, devices / first));
            }
        }
        return out;
    }

    private static List<Integer> microBatches(int stages, long batch, SearchOptions options) {
        Integer wanted = options.microBatches();
        if (wanted != null) {
            return List.of(wanted);
        }
        // Doubling, each as near to it as the batch can be divided.
        SortedSet<Integer> out = new TreeSet<>();
        for (long near = stages; near <= (long) MOST_BY_STAGE * stages; near *= 2) {
            out.add(Math.toIntExact(nearestDivisor(batch, near)));
        }
        return List.copyOf(out);
    }
}

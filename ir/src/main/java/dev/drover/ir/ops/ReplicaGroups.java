package dev.drover.ir.ops;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Which devices take part in a collective together. Textual forms, kept as they were read:
 *
 * <pre>
 *   {}                                  all devices, one group
 *   {{0,1},{2,3}}                       lists
 *   [2,4]<=[8]                          groups x members of an iota
 *   [4,2]<=[2,4]T(1,0)                  .. of a reshaped and transposed iota
 *   mesh['x'=4,'y'=2] {'y'}             groups along axes of a named mesh; members in the order of the axes named
 *   mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}
 * </pre>
 *
 * @param text the form that is printed
 * @param groups members by group; empty for all devices in one group
 */
public record ReplicaGroups(String text, List<List<Integer>> groups) {
    /** All devices in one group. */
    public static final ReplicaGroups ALL = new ReplicaGroups("{}", List.of());

    private static final Pattern IOTA =
            Pattern.compile("\\[([0-9, ]+)\\]\\s*<=\\s*\\[([0-9, ]+)\\](?:\\s*T\\(([0-9, ]+)\\))?");
    private static final Pattern MESH = Pattern.compile(
            "@?mesh\\[(.*?)\\]\\s*(?:,\\s*device_ids=\\((?:\\[([0-9, ]+)\\](?:\\s*T\\(([0-9, ]+)\\))?|([0-9, ]+))\\))?\\s*\\{(.*)\\}");
    private static final Pattern AXIS = Pattern.compile("['\"]([^'\"]*)['\"]\\s*=\\s*([0-9]+)");
    private static final Pattern AXIS_REFERENCE =
            Pattern.compile("['\"]([^'\"]*)['\"](?:\\s*:\\s*\\(([0-9]+)\\)([0-9]+))?");

    public ReplicaGroups {
        groups = groups.stream().map(List::copyOf).toList();
    }

    /** Groups as lists. */
    public static ReplicaGroups of(List<List<Integer>> groups) {
        String text = groups.stream()
                .map(g -> g.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}")))
                .collect(Collectors.joining(",", "{", "}"));
        return new ReplicaGroups(text, groups);
    }

    /** The {@code replica_groups} of an instruction; all devices if absent. */
    static ReplicaGroups parse(OpSource source) {
        String text = source.text("replica_groups");
        if (text == null) {
            return ALL;
        }
        String deviceIds = source.text("device_ids");
        return parse(deviceIds == null ? text : text.trim() + ", device_ids=" + deviceIds.trim());
    }

    public static ReplicaGroups parse(String text) {
        String trimmed = text.trim();
        Matcher iota = IOTA.matcher(trimmed);
        Matcher mesh = MESH.matcher(trimmed);
        try {
            if (iota.matches()) {
                long[] shape = longs(iota.group(1));
                int[] devices = transposedIota(longs(iota.group(2)), iota.group(3));
                if (shape.length == 2 && shape[0] * shape[1] == devices.length) {
                    return new ReplicaGroups(trimmed, rows(devices, (int) shape[1]));
                }
            } else if (mesh.matches()) {
                return new ReplicaGroups(trimmed, meshGroups(mesh));
            } else if (trimmed.startsWith("{") && trimmed.endsWith("}")) {
                return new ReplicaGroups(trimmed.replace(" ", ""), lists(trimmed));
            }
        } catch (NumberFormatException | ArithmeticException | IndexOutOfBoundsException e) {
            throw bad(text);
        }
        throw bad(text);
    }

    private static AttributeException bad(String text) {
        return new AttributeException(
                "replica_groups",
                "The replica_groups (" + text + ") must be like {{0,1},{2,3}}, [2,4]<=[8], [4,2]<=[2,4]T(1,0)"
                        + " or mesh['x'=4,'y'=2] {'y'}.");
    }

    /** Lists of numbers, {@code {{0,1},{2,3}}}, of another attribute. */
    static List<List<Integer>> lists(String attribute, String text) {
        String trimmed = text.trim();
        try {
            if (trimmed.startsWith("{") && trimmed.endsWith("}")) {
                return lists(trimmed);
            }
        } catch (NumberFormatException e) {
            throw new AttributeException(
                    attribute, "The " + attribute + " (" + text + ") must be whole numbers, like {{0,1},{2,3}}.");
        }
        throw new AttributeException(attribute, "The " + attribute + " (" + text + ") must be like {{0,1},{2,3}}.");
    }

    private static List<List<Integer>> lists(String text) {
        List<List<Integer>> out = new ArrayList<>();
        String inner = text.substring(1, text.length() - 1).trim();
        if (inner.isEmpty()) {
            return out;
        }
        for (String group : inner.split("\\}", -1)) {
            String members = group.replaceAll("[{\\s]", "");
            members = members.startsWith(",") ? members.substring(1) : members;
            if (!members.isEmpty()) {
                out.add(Arrays.stream(members.split(",", -1))
                        .map(Integer::valueOf)
                        .toList());
            }
        }
        return out;
    }

    /** Groups along the named axes: the other axes choose the group, major first. */
    private static List<List<Integer>> meshGroups(Matcher mesh) {
        List<String> names = new ArrayList<>();
        List<Long> sizes = new ArrayList<>();
        Matcher axis = AXIS.matcher(mesh.group(1));
        while (axis.find()) {
            names.add(axis.group(1));
            sizes.add(Long.valueOf(axis.group(2)));
        }
        long[] dims = sizes.stream().mapToLong(Long::longValue).toArray();
        int total = (int) LongStream.of(dims).reduce(1, Math::multiplyExact);
        int[] devices;
        if (mesh.group(2) != null) {
            devices = transposedIota(longs(mesh.group(2)), mesh.group(3));
        } else if (mesh.group(4) != null) {
            devices = LongStream.of(longs(mesh.group(4)))
                    .mapToInt(Math::toIntExact)
                    .toArray();
        } else {
            devices = transposedIota(dims, null);
        }
        if (devices.length != total) {
            throw new IndexOutOfBoundsException();
        }
        // Split axes into sub-axes so that the named ones are whole: 'x':(pre)size has pre, size and the rest.
        List<long[]> grouped = new ArrayList<>(); // {size, stride} of each named (sub-)axis
        List<long[]> others = new ArrayList<>();
        long[] strides = rowMajor(dims);
        List<List<long[]>> cuts = new ArrayList<>(); // by axis: {pre, size, position among the named}
        for (int i = 0; i < dims.length; i++) {
            cuts.add(new ArrayList<>());
        }
        Matcher reference = AXIS_REFERENCE.matcher(mesh.group(5));
        while (reference.find()) {
            int at = names.indexOf(reference.group(1));
            long pre = reference.group(2) == null ? 1 : Long.parseLong(reference.group(2));
            long size = reference.group(3) == null ? dims[at] : Long.parseLong(reference.group(3));
            long stride = strides[at] * (dims[at] / pre / size);
            grouped.add(new long[] {size, stride});
            cuts.get(at).add(new long[] {pre, size});
        }
        for (int i = 0; i < dims.length; i++) {
            long done = 1;
            cuts.get(i).sort((a, b) -> Long.compare(a[0], b[0]));
            for (long[] cut : cuts.get(i)) {
                if (cut[0] > done) {
                    others.add(new long[] {cut[0] / done, strides[i] * (dims[i] / cut[0])});
                }
                done = cut[0] * cut[1];
            }
            if (done < dims[i]) {
                others.add(new long[] {dims[i] / done, strides[i]});
            }
        }
        List<List<Integer>> out = new ArrayList<>();
        for (int base : offsets(others)) {
            List<Integer> group = new ArrayList<>();
            for (int offset : offsets(grouped)) {
                group.add(devices[base + offset]);
            }
            out.add(group);
        }
        return out;
    }

    private static int[] offsets(List<long[]> sizesAndStrides) {
        int[] out = {0};
        for (long[] axis : sizesAndStrides) {
            int[] next = new int[Math.toIntExact(out.length * axis[0])];
            for (int i = 0; i < next.length; i++) {
                next[i] = (int) (out[(int) (i / axis[0])] + i % axis[0] * axis[1]);
            }
            out = next;
        }
        return out;
    }

    private static int[] transposedIota(long[] dims, @org.jspecify.annotations.Nullable String permutation) {
        long[] strides = rowMajor(dims);
        List<long[]> axes = new ArrayList<>();
        long[] order = permutation == null ? LongStream.range(0, dims.length).toArray() : longs(permutation);
        for (long d : order) {
            axes.add(new long[] {dims[(int) d], strides[(int) d]});
        }
        return offsets(axes);
    }

    private static long[] rowMajor(long[] dims) {
        long[] strides = new long[dims.length];
        long stride = 1;
        for (int i = dims.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride *= dims[i];
        }
        return strides;
    }

    private static long[] longs(String list) {
        return Arrays.stream(list.split(",", -1))
                .mapToLong(s -> Long.parseLong(s.trim()))
                .toArray();
    }

    private static List<List<Integer>> rows(int[] devices, int width) {
        List<List<Integer>> out = new ArrayList<>();
        for (int i = 0; i < devices.length; i += width) {
            out.add(Arrays.stream(devices, i, i + width).boxed().toList());
        }
        return out;
    }

    /** Members of a device's group, in order. */
    public List<Integer> groupOf(int device, int devices) {
        if (groups.isEmpty()) {
            List<Integer> all = new ArrayList<>();
            for (int i = 0; i < devices; i++) {
                all.add(i);
            }
            return all;
        }
        for (List<Integer> group : groups) {
            if (group.contains(device)) {
                return group;
            }
        }
        throw new IllegalArgumentException(
                "The replica_groups (" + text + ") must hold device (" + device + ") of " + devices + ".");
    }

    /** Members of the largest group, or 0 if the form says all devices. */
    public int groupSize() {
        return groups.stream().mapToInt(List::size).max().orElse(0);
    }

    @Override
    public String toString() {
        return text;
    }
}

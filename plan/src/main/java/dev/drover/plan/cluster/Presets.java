package dev.drover.plan.cluster;

import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Named clusters, {@code NAME:N} with N machines (for {@code local}: N workers on this machine). Peaks and bandwidths are the
 * vendors' data sheets but where a paper's test bed says otherwise; {@code usableShare} 0.9 is TePDist's usage ratio.
 */
public final class Presets {
    private static final Pattern TEXT = Pattern.compile("([a-z0-9.]+)(?::([1-9]\\d*))?");
    private static final int MOST_WORKERS = 256;
    private static final int MOST_MACHINES = Cluster.MOST_DEVICES / 8;
    private static final long GIB = 1L << 30;
    private static final double GBIT = 1e9 / 8;

    /** Names in order. */
    public static final List<String> NAMES = List.of("a100", "c1x", "h100", "local", "m8", "p3.8xlarge", "s1");

    private Presets() {}

    /** The preset of a text such as {@code m8:2}; the calibration is asked for {@code local} only. */
    public static Cluster parse(String text, Calibration calibration) {
        Matcher matcher = TEXT.matcher(text);
        String name = matcher.matches() ? matcher.group(1) : text;
        if (!matcher.matches() || !NAMES.contains(name)) {
            throw Nearest.error(
                    "The cluster (" + text + ") must be a YAML file or one of " + NAMES + " with a number, as in m8:2.",
                    name.replaceFirst(":.*", ""),
                    NAMES,
                    "write %s:2");
        }
        String number = matcher.group(2) == null ? "1" : matcher.group(2);
        int most = name.equals("local") ? MOST_WORKERS : MOST_MACHINES;
        if (number.length() > 6 || Integer.parseInt(number) > most) {
            throw new UserError(
                    "The number (" + number + ") of " + (name.equals("local") ? "workers" : "machines")
                            + " of cluster (" + text + ") must be at most " + most + ".",
                    "Maybe write " + name + ":" + most + ".");
        }
        int n = Integer.parseInt(number);
        return switch (name) {
            case "a100" -> a100(text, n);
            case "c1x" -> c1x(text, n);
            case "h100" -> h100(text, n);
            case "m8" -> m8(text, n);
            case "p3.8xlarge" -> p3(text, n);
            case "s1" -> s1(text, n);
            default -> local(text, n, calibration.measure());
        };
    }

    /** Whether a cluster's name is that of a preset of other machines than this one. */
    public static boolean isElsewhere(String clusterName) {
        String name = clusterName.replaceFirst(":.*", "");
        return NAMES.contains(name) && !name.equals("local");
    }

    /** Rhino's M8: 8 V100-SXM2-32GB with NVLink 2, one 100G RoCE card; FP32 peak 15.6 TFLOP/s as used for its MFU. */
    private static Cluster m8(String name, int n) {
        return Cluster.uniform(name, v100("v100-sxm2-32gb", 32 * GIB), n, 8, new Link(150e9, 6_000, false), roce100());
    }

    /** Rhino's S1: one V100S-PCIE-32GB, one 100G RoCE card. Data sheet: 16.4 TFLOP/s FP32, 130 tensor FP16, 1134 GB/s. */
    private static Cluster s1(String name, int n) {
        DeviceType device =
                new DeviceType("v100s-pcie-32gb", flops(16.4e12, 16.4e12, 130e12), 0.9, 32 * GIB, 1134e9, 8_000);
        return Cluster.uniform(name, device, n, 1, new Link(12e9, 10_000, true), roce100());
    }

    /** Ada-Grouper's C_1x: one V100-SXM2-32GB, 25 Gb virtual Ethernet (latency of a virtual network assumed: 50 us). */
    private static Cluster c1x(String name, int n) {
        return Cluster.uniform(
                name,
                v100("v100-sxm2-32gb", 32 * GIB),
                n,
                1,
                new Link(150e9, 6_000, false),
                new Link(25 * GBIT, 50_000, true));
    }

    /** AlpaComm's test bed: 4 V100-16GB with NVLink per p3.8xlarge, 10 Gb/s between hosts in one placement group. */
    private static Cluster p3(String name, int n) {
        return Cluster.uniform(
                name,
                v100("v100-sxm2-16gb", 16 * GIB),
                n,
                4,
                new Link(75e9, 6_000, false),
                new Link(10 * GBIT, 30_000, true));
    }

    /** DGX A100: 8 A100-SXM4-80GB, NVLink 3 (300 GB/s each way), 8 x 200 Gb/s. Data sheet: 19.5 / 312 TFLOP/s, 2039 GB/s. */
    private static Cluster a100(String name, int n) {
        DeviceType device =
                new DeviceType("a100-sxm4-80gb", flops(19.5e12, 312e12, 312e12), 0.7, 80 * GIB, 2039e9, 6_000);
        return Cluster.uniform(
                name, device, n, 8, new Link(300e9, 4_000, false), new Link(8 * 200 * GBIT, 8_000, true));
    }

    /** DGX H100: 8 H100-SXM5-80GB, NVLink 4 (450 GB/s each way), 8 x 400 Gb/s. Data sheet: 67 / 989 TFLOP/s, 3350 GB/s. */
    private static Cluster h100(String name, int n) {
        DeviceType device =
                new DeviceType("h100-sxm5-80gb", flops(67e12, 989e12, 989e12), 0.6, 80 * GIB, 3350e9, 5_000);
        return Cluster.uniform(
                name, device, n, 8, new Link(450e9, 4_000, false), new Link(8 * 400 * GBIT, 8_000, true));
    }

    /** N workers that share this machine: its speed and memory in equal parts, loopback between them. */
    private static Cluster local(String name, int n, Calibration.Figures figures) {
        double share = Math.min(1.0, (double) figures.cores() / n);
        Map<String, Double> flops = new TreeMap<>();
        figures.flopsPerSecondPerCoreByDType().forEach((dtype, perCore) -> flops.put(dtype, perCore * share));
        DeviceType device = new DeviceType(
                "cpu",
                flops,
                1.0,
                figures.memoryBytes() / n,
                figures.memoryBytesPerSecond() * Math.min(share, 1.0),
                figures.opOverheadNanos());
        Link loopback = new Link(figures.loopbackBytesPerSecond(), figures.loopbackLatencyNanos(), true);
        return Cluster.uniform(name, device, 1, n, loopback, loopback).withMeasured(figures.measured());
    }

    /** V100 data sheet: 15.7 TFLOP/s FP32 (Rhino reckons with 15.6), 125 tensor FP16, 900 GB/s. No BF16 units. */
    private static DeviceType v100(String name, long memoryBytes) {
        return new DeviceType(name, flops(15.6e12, 15.6e12, 125e12), 0.9, memoryBytes, 900e9, 8_000);
    }

    private static Link roce100() {
        return new Link(100 * GBIT, 10_000, true);
    }

    private static Map<String, Double> flops(double f32, double bf16, double f16) {
        return Map.of("f32", f32, "bf16", bf16, "f16", f16);
    }
}

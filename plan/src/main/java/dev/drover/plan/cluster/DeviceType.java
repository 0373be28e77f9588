package dev.drover.plan.cluster;

import dev.drover.ir.UserError;
import dev.drover.ir.type.DType;
import dev.drover.plan.Wanted;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one device can do.
 *
 * @param flopsPerSecondByDType peak of matrix products by HLO's name of the element type; must include f32
 * @param usableShare part of the peak that large products reach, in (0, 1]
 * @param opOverheadNanos time that an op takes however small it is (launch, allocation)
 */
public record DeviceType(
        String name,
        Map<String, Double> flopsPerSecondByDType,
        double usableShare,
        long memoryBytes,
        double memoryBytesPerSecond,
        long opOverheadNanos) {
    public DeviceType {
        String owner = "device type (" + name + ")";
        flopsPerSecondByDType = Collections.unmodifiableMap(new TreeMap<>(flopsPerSecondByDType));
        for (Map.Entry<String, Double> entry : flopsPerSecondByDType.entrySet()) {
            if (DType.byHloName(entry.getKey()) == null) {
                throw new UserError("The flopsPerSecondByDType (" + entry.getKey() + ") of device type (" + name
                        + ") must be by element types of HLO, such as f32 and bf16.");
            }
            Wanted.speed("flopsPerSecondByDType." + entry.getKey(), entry.getValue(), owner);
        }
        if (!flopsPerSecondByDType.containsKey("f32")) {
            throw new UserError("The flopsPerSecondByDType (" + flopsPerSecondByDType.keySet() + ") of device type ("
                    + name + ") must include f32.");
        }
        if (!(usableShare > 0 && usableShare <= 1)) {
            throw new UserError("The usableShare (" + usableShare + ") of device type (" + name
                    + ") must be above 0 and at most 1.");
        }
        Wanted.atLeast("memoryBytes", memoryBytes, 1, owner);
        Wanted.speed("memoryBytesPerSecond", memoryBytesPerSecond, owner);
        Wanted.nanos("opOverheadNanos", (double) opOverheadNanos, owner);
    }

    /** Speed of large matrix products of an element type; types without a figure count as f32. */
    public double flopsPerSecond(DType dtype) {
        Double peak = flopsPerSecondByDType.get(dtype.hloName());
        if (peak == null) {
            peak = flopsPerSecondByDType.getOrDefault("f32", 1.0);
        }
        return peak * usableShare;
    }

    /** The same with another memory. */
    public DeviceType withMemoryBytes(long bytes) {
        return new DeviceType(name, flopsPerSecondByDType, usableShare, bytes, memoryBytesPerSecond, opOverheadNanos);
    }
}

package dev.drover.ir.type;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Element types, with HLO's names. */
public enum DType {
    PRED("pred", 8, Family.PRED),
    S4("s4", 4, Family.SIGNED),
    S8("s8", 8, Family.SIGNED),
    S16("s16", 16, Family.SIGNED),
    S32("s32", 32, Family.SIGNED),
    S64("s64", 64, Family.SIGNED),
    U4("u4", 4, Family.UNSIGNED),
    U8("u8", 8, Family.UNSIGNED),
    U16("u16", 16, Family.UNSIGNED),
    U32("u32", 32, Family.UNSIGNED),
    U64("u64", 64, Family.UNSIGNED),
    F8E4M3FN("f8e4m3fn", 8, Family.FLOAT),
    F8E5M2("f8e5m2", 8, Family.FLOAT),
    F16("f16", 16, Family.FLOAT),
    BF16("bf16", 16, Family.FLOAT),
    F32("f32", 32, Family.FLOAT),
    F64("f64", 64, Family.FLOAT),
    C64("c64", 64, Family.COMPLEX);

    /** What arithmetic an element type has. */
    public enum Family {
        PRED,
        SIGNED,
        UNSIGNED,
        FLOAT,
        COMPLEX
    }

    private static final Map<String, DType> BY_HLO_NAME =
            Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(t -> t.hloName, t -> t));

    private final String hloName;
    private final int bits;
    private final Family family;

    DType(String hloName, int bits, Family family) {
        this.hloName = hloName;
        this.bits = bits;
        this.family = family;
    }

    /** HLO's name, such as {@code f32}. */
    public String hloName() {
        return hloName;
    }

    /** Width in memory, in bits; {@code pred} takes a byte. */
    public int bits() {
        return bits;
    }

    /** Bytes that {@code elements} elements take, rounded up for the types below a byte. */
    public long sizeBytes(long elements) {
        return (elements * bits + 7) / 8;
    }

    public Family family() {
        return family;
    }

    public boolean isFloat() {
        return family == Family.FLOAT;
    }

    public boolean isComplex() {
        return family == Family.COMPLEX;
    }

    /** Signed or unsigned integer (not pred). */
    public boolean isInteger() {
        return family == Family.SIGNED || family == Family.UNSIGNED;
    }

    /** The type with this HLO name, or null. */
    public static @Nullable DType byHloName(String name) {
        return BY_HLO_NAME.get(name);
    }
}

package dev.drover.backend.torch;

import dev.drover.ir.type.DType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The libtorch element type that carries each of ours. Unsigned types of 16 and 32 bits, for which libtorch has next to no
 * arithmetic, are carried zero-extended in the next wider signed type; u64 is carried as the same 64 bits in s64; four-bit types
 * take a byte.
 */
public final class Carriers {
    private Carriers() {}

    public static ScalarType scalarType(DType dtype) {
        return switch (dtype) {
            case PRED -> ScalarType.Bool;
            case S4, S8 -> ScalarType.Char;
            case U4, U8 -> ScalarType.Byte;
            case S16 -> ScalarType.Short;
            case S32, U16 -> ScalarType.Int;
            case S64, U32, U64 -> ScalarType.Long;
            case F8E4M3FN -> ScalarType.Float8_e4m3fn;
            case F8E5M2 -> ScalarType.Float8_e5m2;
            case F16 -> ScalarType.Half;
            case BF16 -> ScalarType.BFloat16;
            case F32 -> ScalarType.Float;
            case F64 -> ScalarType.Double;
            case C64 -> ScalarType.ComplexFloat;
        };
    }

    /** Bytes of one element as carried. */
    public static int width(DType dtype) {
        return switch (dtype) {
            case PRED, S4, U4, S8, U8, F8E4M3FN, F8E5M2 -> 1;
            case S16, F16, BF16 -> 2;
            case S32, U16, F32 -> 4;
            case S64, U32, U64, F64, C64 -> 8;
        };
    }

    /** Whether values of this type must be wrapped after arithmetic in the carrier. */
    public static boolean wraps(DType dtype) {
        return switch (dtype) {
            case S4, U4, U16, U32 -> true;
            default -> false;
        };
    }
}

package dev.drover.ir.ops;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which operands of contractions, windows and indexed access a partial sum may pass. */
class LinearContractionsTest {
    private static final String COMPUTATIONS = """
            HloModule m

            add {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT c = f64[] add(a, b)
            }

            maximum {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT c = f64[] maximum(a, b)
            }

            ge {
              a = f64[] parameter(0)
              b = f64[] parameter(1)
              ROOT c = pred[] compare(a, b), direction=GE
            }

            """;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2|x = f64[2,3] parameter(0); y = f64[3,4] parameter(1);"
                        + "z = f64[2,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                "2|x = f64[2,5,3] parameter(0); y = f64[2,3,4] parameter(1);"
                        + "z = f64[2,5,4] convolution(x, y), window={size=2 pad=1_0}, dim_labels=b0f_0io->b0f",
                "1|x = f64[2,3] parameter(0); i = f64[] parameter(1);"
                        + "z = f64[2] reduce(x, i), dimensions={1}, to_apply=add",
                "0|x = f64[2,3] parameter(0); i = f64[] parameter(1);"
                        + "z = f64[2] reduce(x, i), dimensions={1}, to_apply=maximum",
                "1|x = f64[5] parameter(0); i = f64[] parameter(1);"
                        + "z = f64[5] reduce-window(x, i), window={size=3 pad=1_1}, to_apply=add",
                "0|x = f64[5] parameter(0); i = f64[] parameter(1);"
                        + "z = f64[5] reduce-window(x, i), window={size=3 pad=1_1}, to_apply=maximum",
                "1|x = f64[5] parameter(0); y = f64[3] parameter(1); i = f64[] parameter(2);"
                        + "z = f64[5] select-and-scatter(x, y, i), window={size=3 stride=2 pad=1_1}, select=ge, scatter=add",
                "1|x = f64[4,2] parameter(0); i = s32[3] parameter(1);"
                        + "z = f64[3,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
                        + " index_vector_dim=1, slice_sizes={1,2}",
                "1|x = f64[4,2] parameter(0); i = s32[3] parameter(1); u = f64[3,2] parameter(2);"
                        + "z = f64[4,2] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
                        + " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
                "0|x = f64[4,2] parameter(0); i = s32[3] parameter(1); u = f64[3,2] parameter(2);"
                        + "z = f64[4,2] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
                        + " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=maximum",
                "1|x = f64[4,2] parameter(0); z = f64[4,2] custom-call(x), custom_call_target=\"Sharding\"",
            })
    void sumsPass(int groups, String instructions) {
        String entry = Snippet.module(instructions);
        LinearChecks.checkRoot(COMPUTATIONS + entry.substring(entry.indexOf("ENTRY")), groups, 21);
    }
}

package dev.drover.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ZooTest {

    @Test
    void kindsAreInTheOrderOfTheirNamesAndTheirExamplesBuild() {
        List<String> names = Zoo.ALL.stream().map(ModelKind::name).toList();
        assertThat(names).isSorted().doesNotHaveDuplicates();
        for (ModelKind kind : Zoo.ALL) {
            Model model = Zoo.parse(kind.example());
            assertThat(model.name()).isEqualTo(kind.example());
            assertThat(model.parameterCount()).isPositive();
        }
    }

    @Test
    void anEmptyListOfOptionsMeansTheDefaults() {
        assertThat(Zoo.parse("mlp").name()).isEqualTo("mlp");
        assertThat(Zoo.parse("mlp:").parameterCount())
                .isEqualTo(Zoo.parse("mlp:layers=4").parameterCount());
    }

    @Test
    void optionsAreNamedInOneOrder() {
        assertThat(Zoo.parse("mlp:batch=2, layers=1").name()).isEqualTo("mlp:layers=1,batch=2");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "gtp:layers=2 | The model (gtp) must be one of gpt, mlp, moe, unet. | Maybe gpt:layers=4,hidden=256",
                "gpt:layer=2 | The option (layer) of model (gpt) must be one of layers, hidden | Maybe layers=2.",
                "gpt:layers=two | The layers (two) of model (gpt) must be a whole number between 1 and 10000. | ''",
                "gpt:layers=0 | The layers (0) of model (gpt) must be a whole number between 1 and 10000. | ''",
                "gpt:layers=99999999999 | The layers (99999999999) of model (gpt) must be a whole number between 1 and 10000. | ''",
                "unet:blocks=2000000000 | The blocks (2000000000) of model (unet) must be a whole number between 1 and 10000. | ''",
                "gpt:batch=99999999999 | must be a whole number of at least 1 and at most 2147483647. | ''",
                "gpt:layers | The option (layers) of model (gpt) must be written key=value. | Maybe gpt:layers=4.",
                "gpt:layers=1,layers=2 | The option (layers) of model (gpt) must be given once. | ''",
                "gpt:lr=-1 | The lr (-1) of model (gpt) must be a number of at least 0. | ''",
                "gpt:lr=NaN | The lr (NaN) of model (gpt) must be a number of at least 0. | ''",
                "gpt:optimizer=adan | The optimizer (adan) of model (gpt) must be one of adam, adamw | Maybe optimizer=adam.",
                "gpt:hidden=30,heads=4 | The hidden (30) of model (gpt) must be a multiple of heads (4). | Maybe hidden=32.",
                "gpt:optimizer=momentum,momentum=1 | The momentum (1) of model (gpt) must be below 1 | ''",
                "gpt:momentum=0.5 | The momentum (0.5) of model (gpt) must be left out, since optimizer (adam) does not use it. | Maybe optimizer=momentum.",
                "mlp:optimizer=sgd,weightDecay=0 | The weightDecay (0) of model (mlp) must be left out, since optimizer (sgd) | Maybe optimizer=adamw.",
                "gpt:seq=2000000000,batch=2000000000,hidden=2000000000,heads=1,layers=1 | must give tensors of fewer than 2^60 elements | ''",
                "gpt:seq=2000000000,batch=2000000000 | must give tensors of fewer than 2^60 elements | ''",
                "moe:experts=1 | The experts (1) of model (moe) must be at least 2. | ''",
                "moe:batch=8,groups=3 | The batch (8) of model (moe) must be a multiple of groups (3). | Maybe batch=9.",
                "moe:layers=2,every=3 | The every (3) of model (moe) must be at most layers (2). | ''",
                "unet:size=30,levels=3 | The size (30) of model (unet) must be a multiple of 2^(levels - 1) (4). | Maybe size=32.",
                "unet:width=12 | The width (12) of model (unet) must be a multiple of groups (8). | Maybe width=16.",
            })
    void mistakesAreNamed(String name, String message, String maybe) {
        assertThatThrownBy(() -> Zoo.parse(name))
                .isInstanceOf(UserError.class)
                .hasMessageContaining(message)
                .hasMessageContaining(maybe);
    }

    /** Where no name is near, none is suggested. */
    @Test
    void farNamesAreNotSuggested() {
        for (String name : List.of("gpt:foo=1", "gpt:optimizer=xyz")) {
            assertThatThrownBy(() -> Zoo.parse(name))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining("must be one of")
                    .hasMessageNotContaining("Maybe");
        }
    }

    @Test
    void namesAreToldFromFiles() {
        assertThat(Zoo.isName("gpt")).isTrue();
        assertThat(Zoo.isName("gpt:layers=1")).isTrue();
        assertThat(Zoo.isName("step.hlo")).isFalse();
        assertThat(Zoo.isName("gpt.hlo")).isFalse();
    }
}

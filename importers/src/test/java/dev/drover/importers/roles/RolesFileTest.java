package dev.drover.importers.roles;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.importers.ModelFile;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.InputRole.Kind;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RolesFileTest {
    private static final String SGD = """
            HloModule m
            ENTRY e {
              w = f32[4,4] parameter(0)
              table = f32[4,4] parameter(1)
              x = f32[4] parameter(2)
              rate = f32[] parameter(3)
              h = f32[4] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              y = f32[4] dot(h, table), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              loss = f32[] dot(y, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
              back = f32[4] dot(table, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              g = f32[4,4] dot(x, back), lhs_contracting_dims={}, rhs_contracting_dims={}
              r = f32[4,4] broadcast(rate), dimensions={}
              u = f32[4,4] multiply(g, r)
              new = f32[4,4] subtract(w, u)
              ROOT t = (f32[4,4], f32[], f32[4]) tuple(new, loss, y)
            }
            """;

    @TempDir
    Path folder;

    private TrainingStep load(String roles) throws IOException {
        Path model = folder.resolve("m.hlo");
        Files.writeString(model, SGD);
        Files.writeString(ModelFile.rolesFile(model), roles);
        return ModelFile.load(model);
    }

    private void refused(String roles, String message) {
        assertThatThrownBy(() -> load(roles)).isInstanceOf(UserError.class).hasMessageContaining(message);
    }

    @Test
    void whatIsFoundWithoutCorrections() throws IOException {
        TrainingStep step = load("{}");
        assertThat(step.inputs().stream().map(i -> i.kind()))
                .containsExactly(Kind.PARAMETER, Kind.BATCH, Kind.BATCH, Kind.OTHER);
        assertThat(step.outputs()).containsExactly(OutputRole.update(0), OutputRole.LOSS, OutputRole.METRIC);
    }

    @Test
    void namesPatternsAndPositionsCorrect() throws IOException {
        TrainingStep step =
                load("{\"inputs\": {\"ta*\": \"OTHER\", \"3\": \"BATCH\"}, \"outputs\": {\"1\": \"metric\"}}");
        assertThat(step.inputs().stream().map(i -> i.kind()))
                .containsExactly(Kind.PARAMETER, Kind.OTHER, Kind.BATCH, Kind.BATCH);
        assertThat(step.loss()).isEqualTo(-1);
        TrainingStep other = load("{\"outputs\": {\"0\": {\"updates\": \"table\"}}}");
        assertThat(other.outputs().get(0)).isEqualTo(OutputRole.update(1));
        assertThat(other.inputs().get(1).kind()).isEqualTo(Kind.OPTIMIZER_STATE);
    }

    @Test
    void whatIsWrittenSaysTheSame() throws IOException {
        TrainingStep step = load("{\"inputs\": {\"table\": \"OTHER\"}}");
        Path written = folder.resolve("all.json");
        RolesFile.write(step, written);
        assertThat(load(Files.readString(written)).inputs()).isEqualTo(step.inputs());
        assertThat(load(Files.readString(written)).outputs()).isEqualTo(step.outputs());
    }

    @Test
    void mistakesAreNamed() {
        refused("{\"inputs\": {\"tabel\": \"OTHER\"}}", "The input (tabel) of roles file");
        refused("{\"inputs\": {\"tabel\": \"OTHER\"}}", "Maybe table.");
        refused("{\"inputs\": {\"w\": \"WEIGHT\"}}", "The role (WEIGHT) of input (w)");
        refused("{\"outputs\": {\"9\": \"LOSS\"}}", "The output (9) of roles file");
        refused("{\"outputs\": {\"1\": {\"updates\": \"w\"}}}", "must exist, have its shape and be updated once");
        refused("{\"outputs\": {\"0\": \"UPDATE\"}}", "must name its input");
        refused("{\"in\": {}}", "The key (in) of roles file");
        refused("{", "must be JSON");
        refused("{} x", "must be JSON");
        refused("{\"inputs\": {\"w\": \"OTHER\", \"w\": \"BATCH\"}}", "must be JSON");
        refused("", "must be a map with the keys inputs and outputs");
        refused("[]", "must be a map with the keys inputs and outputs");
        refused("{\"inputs\": [\"w\"]}", "The inputs of roles file");
    }

    /** What the planner could not do anything with is a mistake of the file, not one of Drover. */
    @Test
    void rolesThatContradictAreRefused() {
        refused("{\"inputs\": {\"w\": \"BATCH\"}}", "The input (0, w) that output (0) updates must not be a batch");
        refused("{\"outputs\": {\"0\": \"LOSS\"}}", "The loss (output 0, f32[4,4])");
        refused("{\"outputs\": {\"2\": \"LOSS\"}}", "a scalar of a floating type");
    }

    @Test
    void theLastLossIsTheOnlyOne() throws IOException {
        assertThat(load("{\"outputs\": {\"1\": \"LOSS\"}}").loss()).isEqualTo(1);
        TrainingStep step = load("{\"outputs\": {\"2\": \"LOSS\", \"1\": \"LOSS\"}}");
        assertThat(step.outputs()).containsExactly(OutputRole.update(0), OutputRole.LOSS, OutputRole.METRIC);
    }

    @Test
    void adviceIsNearOrNone() {
        refused("{\"inputs\": {\"nothing*\": \"OTHER\"}}", "Maybe see the names with drover inspect --inputs.");
        refused("{\"inputs\": {\"99\": \"OTHER\"}}", "a position below 4.\nMaybe see the names");
    }
}

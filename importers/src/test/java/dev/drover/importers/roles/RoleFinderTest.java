package dev.drover.importers.roles;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.InputRole.Kind;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.text.HloReader;
import org.junit.jupiter.api.Test;

class RoleFinderTest {

    /**
     * One matrix trained with momentum, a step counter, a random key, and before the state all that might be taken for the loss: the
     * norms of the new matrix and of the gradient, an accuracy, the exponential of the loss.
     */
    @Test
    void theLossIsFoundAmongMetricsAndKeysAmongState() {
        TrainingStep step = RoleFinder.find(HloReader.read("metrics", """
                HloModule m, input_output_alias={ {0}: (6, {}, may-alias), {5}: (0, {}, may-alias) }
                sum { a = f32[] parameter(0)
                  b = f32[] parameter(1)
                  ROOT s = f32[] add(a, b) }
                ENTRY e {
                  w = f32[4,4] parameter(0)
                  momentum = f32[4,4] parameter(1)
                  step = s32[] parameter(2)
                  key = u32[2] parameter(3)
                  x = f32[8,4] parameter(4)
                  target = f32[8,4] parameter(5)
                  rate = f32[] parameter(6)
                  zero = f32[] constant(0)
                  h = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                  d = f32[8,4] subtract(h, target)
                  square = f32[8,4] multiply(d, d)
                  loss = f32[] reduce(square, zero), dimensions={0,1}, to_apply=sum
                  perplexity = f32[] exponential(loss)
                  g = f32[4,4] dot(x, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}
                  decay = f32[] constant(0.9)
                  decays = f32[4,4] broadcast(decay), dimensions={}
                  old = f32[4,4] multiply(momentum, decays)
                  new.momentum = f32[4,4] add(old, g)
                  rates = f32[4,4] broadcast(rate), dimensions={}
                  change = f32[4,4] multiply(new.momentum, rates)
                  new.w = f32[4,4] subtract(w, change)
                  g2 = f32[4,4] multiply(g, g)
                  g.sum = f32[] reduce(g2, zero), dimensions={0,1}, to_apply=sum
                  g.norm = f32[] sqrt(g.sum)
                  w2 = f32[4,4] multiply(new.w, new.w)
                  w.sum = f32[] reduce(w2, zero), dimensions={0,1}, to_apply=sum
                  w.norm = f32[] sqrt(w.sum)
                  right = pred[8,4] compare(h, target), direction=EQ
                  hits = f32[8,4] convert(right)
                  accuracy = f32[] reduce(hits, zero), dimensions={0,1}, to_apply=sum
                  one = s32[] constant(1)
                  next = s32[] add(step, one)
                  bits = u32[] constant(13)
                  bit.array = u32[2] broadcast(bits), dimensions={}
                  shifted = u32[2] shift-left(key, bit.array)
                  new.key = u32[2] xor(key, shifted)
                  ROOT t = (f32[], f32[], f32[], f32[], f32[], f32[4,4], f32[4,4], s32[], u32[2]) \
                tuple(w.norm, g.norm, accuracy, perplexity, loss, new.w, new.momentum, next, new.key)
                }
                """));
        assertThat(step.inputs().stream().map(InputRole::kind))
                .containsExactly(
                        Kind.PARAMETER,
                        Kind.OPTIMIZER_STATE,
                        Kind.COUNTER,
                        Kind.RANDOM_KEY,
                        Kind.BATCH,
                        Kind.BATCH,
                        Kind.OTHER);
        assertThat(step.outputs())
                .containsExactly(
                        OutputRole.METRIC,
                        OutputRole.METRIC,
                        OutputRole.METRIC,
                        OutputRole.METRIC,
                        OutputRole.LOSS,
                        OutputRole.update(0),
                        OutputRole.update(1),
                        OutputRole.update(2),
                        OutputRole.update(3));
    }

    @Test
    void aTupleAsInputIsRefused() {
        assertThatThrownBy(() -> RoleFinder.find(HloReader.read("tuple", """
                        HloModule m
                        ENTRY e { p = (f32[2], f32[]) parameter(0)
                          ROOT x = f32[2] get-tuple-element(p), index=0 }
                        """)))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("The input (p) of model (m) must be an array, not (f32[2], f32[]).");
    }
}

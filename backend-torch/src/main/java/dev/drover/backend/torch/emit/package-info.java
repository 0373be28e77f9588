/**
 * From a computation to bound steps: the flattened program, views on planned buffers, the memory plan.
 *
 * <pre>
 *   Computation --Flattener--> FlatProgram --Rewrites--> FlatProgram --Emitter + kernels--> Block of steps on Buffers
 *               --MemoryPlan--> offsets --Binder--> Runnables on libtorch tensors
 * </pre>
 */
@NullMarked
package dev.drover.backend.torch.emit;

import org.jspecify.annotations.NullMarked;

package dev.drover.plan.memory;

/**
 * What the kernels of a program do in one run, beside products of matrices and collectives.
 *
 * @param calls of such kernels
 * @param bytes that they read and write
 * @param chainElements elements that additions and the like compute inside chains of elementwise ops, by op
 * @param divisionElements the same for divisions and square roots
 * @param firstCalls different kernels, products among them: what a run calls for the first time
 * @param touchedBytes inputs, outputs and temporaries: what a run touches for the first time
 */
public record KernelWork(
        int calls, long bytes, long chainElements, long divisionElements, int firstCalls, long touchedBytes) {}

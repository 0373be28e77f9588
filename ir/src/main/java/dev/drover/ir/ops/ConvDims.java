package dev.drover.ir.ops;

import java.util.ArrayList;
import java.util.List;

/**
 * Which dims of a convolution's operands and result are what, HLO's {@code dim_labels} such as {@code b01f_01io->b01f}. Spatial
 * dims are in the order of their digits.
 */
public record ConvDims(
        int inputBatch,
        int inputFeature,
        List<Integer> inputSpatial,
        int kernelInput,
        int kernelOutput,
        List<Integer> kernelSpatial,
        int outputBatch,
        int outputFeature,
        List<Integer> outputSpatial) {

    public ConvDims {
        inputSpatial = List.copyOf(inputSpatial);
        kernelSpatial = List.copyOf(kernelSpatial);
        outputSpatial = List.copyOf(outputSpatial);
    }

    /** Number of spatial dims. */
    public int spatialRank() {
        return inputSpatial.size();
    }

    public static ConvDims parse(String text) {
        int bar = text.indexOf('_');
        int arrow = text.indexOf("->");
        if (bar < 0 || arrow < bar) {
            throw bad(text);
        }
        String input = text.substring(0, bar).trim();
        String kernel = text.substring(bar + 1, arrow).trim();
        String output = text.substring(arrow + 2).trim();
        int rank = input.length() - 2;
        if (kernel.length() != rank + 2 || output.length() != rank + 2) {
            throw bad(text);
        }
        return new ConvDims(
                find(text, input, 'b'),
                find(text, input, 'f'),
                spatial(text, input, rank),
                find(text, kernel, 'i'),
                find(text, kernel, 'o'),
                spatial(text, kernel, rank),
                find(text, output, 'b'),
                find(text, output, 'f'),
                spatial(text, output, rank));
    }

    private static List<Integer> spatial(String text, String labels, int rank) {
        List<Integer> dims = new ArrayList<>();
        for (int i = 0; i < rank; i++) {
            dims.add(find(text, labels, (char) ('0' + i)));
        }
        return dims;
    }

    private static int find(String text, String labels, char label) {
        int at = labels.indexOf(label);
        if (at < 0) {
            throw bad(text);
        }
        return at;
    }

    private static AttributeException bad(String text) {
        return new AttributeException(
                "dim_labels",
                "The dim_labels (" + text + ") must be like b01f_01io->b01f, with each label once in each part.");
    }

    @Override
    public String toString() {
        return labels(inputBatch, 'b', inputFeature, 'f', inputSpatial)
                + "_" + labels(kernelInput, 'i', kernelOutput, 'o', kernelSpatial)
                + "->" + labels(outputBatch, 'b', outputFeature, 'f', outputSpatial);
    }

    private static String labels(int first, char firstLabel, int second, char secondLabel, List<Integer> spatial) {
        char[] out = new char[spatial.size() + 2];
        out[first] = firstLabel;
        out[second] = secondLabel;
        for (int i = 0; i < spatial.size(); i++) {
            out[spatial.get(i)] = (char) ('0' + i);
        }
        return new String(out);
    }
}

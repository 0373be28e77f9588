/** ONNX into Graph. */
@NullMarked
package dev.drover.importers.onnx;

import org.jspecify.annotations.NullMarked;

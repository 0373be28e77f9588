@NullMarked
package dev.drover.plan.mesh;

import org.jspecify.annotations.NullMarked;

@NullMarked
package dev.drover.plan.stage;

import org.jspecify.annotations.NullMarked;

@NullMarked
package dev.drover.plan.task;

import org.jspecify.annotations.NullMarked;

@NullMarked
package dev.drover.plan.sharding;

import org.jspecify.annotations.NullMarked;

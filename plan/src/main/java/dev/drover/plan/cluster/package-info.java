/** What the devices can do and how they are joined. */
@NullMarked
package dev.drover.plan.cluster;

import org.jspecify.annotations.NullMarked;

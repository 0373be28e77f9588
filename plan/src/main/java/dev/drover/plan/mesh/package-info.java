/** Devices, hosts, links and named mesh axes. */
@NullMarked
package dev.drover.plan.mesh;

import org.jspecify.annotations.NullMarked;

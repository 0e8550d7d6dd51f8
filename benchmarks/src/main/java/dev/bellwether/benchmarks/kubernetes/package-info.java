/** Ours, on Leases of Kubernetes. */
@NullMarked
package dev.bellwether.benchmarks.kubernetes;

import org.jspecify.annotations.NullMarked;

/** Ours, on Consul. */
@NullMarked
package dev.bellwether.benchmarks.consul;

import org.jspecify.annotations.NullMarked;

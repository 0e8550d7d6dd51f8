/**
 * The in-process backend, {@code memory:}, for tests and first steps, and a model of what a {@link
 * dev.bellwether.spi.LeaseStore} has to do: a stranger who writes one may begin by reading it.
 */
package dev.bellwether.memory;

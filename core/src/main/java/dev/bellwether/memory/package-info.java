/**
 * The in-process backend, {@code memory:}, for tests and first steps, and a model of what a {@link
 * dev.bellwether.spi.LeaseStore} and a {@link dev.bellwether.spi.RecordStore} have to do: to write one, begin by
 * reading it.
 */
package dev.bellwether.memory;

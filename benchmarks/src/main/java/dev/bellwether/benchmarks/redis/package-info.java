/** Ours and the fenced lock of Redisson, on Valkey. */
@NullMarked
package dev.bellwether.benchmarks.redis;

import org.jspecify.annotations.NullMarked;

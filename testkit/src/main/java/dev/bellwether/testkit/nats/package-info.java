/** Servers of NATS for tests and benchmarks: processes of their own, on the loopback interface only. */
@NullMarked
package dev.bellwether.testkit.nats;

import org.jspecify.annotations.NullMarked;

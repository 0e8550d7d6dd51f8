/** What an outbox and its relay can do, beside others, with database, broker, relay and load on one machine. */
@NullMarked
package dev.bellwether.benchmarks.outbox;

import org.jspecify.annotations.NullMarked;

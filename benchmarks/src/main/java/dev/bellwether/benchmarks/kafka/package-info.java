/** What an election on Kafka takes, beside a loop in the manner of goNELI, on the same broker in the same run. */
@NullMarked
package dev.bellwether.benchmarks.kafka;

import org.jspecify.annotations.NullMarked;

/** Kafka brokers for tests, benchmarks and demonstrations: processes of their own, on the loopback interface only. */
@NullMarked
package dev.bellwether.testkit.kafka;

import org.jspecify.annotations.NullMarked;

/**
 * Elections on Apache Kafka: one election is one consumer group on a leader topic, and the owner of partition 0 may
 * lead.
 *
 * <p>Two things must come together for a candidate to lead. The <em>group</em> says whose turn it is: its coordinator
 * hands the partition to one member, takes it away from a dead one, and accepts offset commits from the owner alone.
 * The <em>journal</em>, the partition itself, says who leads: a claim written there ends the mandate of anybody who
 * claimed before, and its offset is the token. {@link dev.bellwether.kafka.SeatMachine} joins the two, and
 * {@code docs/kafka.md} has the argument why no two lead at once.
 *
 * <p>With {@code by=log} there is no group: {@link dev.bellwether.kafka.LogRecordStore} makes a store of records of the
 * log, and core makes elections of that. {@link dev.bellwether.kafka.LogMachine} says what is in effect, and
 * {@link dev.bellwether.kafka.LogKeeper} why nobody leads beside another when a log begins again.
 *
 * <p>{@link dev.bellwether.kafka.KafkaElections} is what users see.
 */
@NullMarked
package dev.bellwether.kafka;

import org.jspecify.annotations.NullMarked;

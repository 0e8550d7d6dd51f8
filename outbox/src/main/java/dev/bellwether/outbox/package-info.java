/**
 * The transactional outbox: an application writes messages into a table, in the transaction that changes its data, and
 * a relay publishes them to Kafka in order and deletes them.
 *
 * <p>{@link dev.bellwether.outbox.Outbox} writes. {@link dev.bellwether.outbox.OutboxRelay} publishes: of all relays of
 * a table one leads, for each shard. The election is for liveness. Safety comes from two fences that a leader puts up
 * before it reads the table: its transactional producer, behind which nothing of an earlier leader reaches Kafka, and
 * its epoch in the database, behind which no earlier leader deletes a row.
 *
 * <p>A {@code ShardRun} is one leader's run from those fences to its first failure. It is a line of three threads:
 * {@code RowReader} reads rows in order, {@code TransactionalSender} sends them in transactions and stops at the first
 * error,
 * {@code RowDeleter} deletes what was committed. Whatever goes wrong ends the session, and the next one begins with the
 * first row that is left. So consumers see rewinds, never a record before its predecessor, nor an old one last. With
 * {@code once}, the {@code ProgressTopic} tells what was committed and not deleted, and readers of committed records
 * see each once.
 */
@NullMarked
package dev.bellwether.outbox;

import org.jspecify.annotations.NullMarked;

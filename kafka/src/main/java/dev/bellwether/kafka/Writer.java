package dev.bellwether.kafka;

import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes to the journal, for all candidacies of a connection. An error that is of one record hurts nobody else; one
 * that leaves the producer unusable forever has a new one take its place, at most once a second. So has silence: where
 * only the leader of a partition refuses its certificates, a producer tells no more than that records for it are late.
 * Where nobody leads the partition, it tells the same, and another one is no better; but each costs all others what
 * they have under way. So whenever another one did not help a partition, its silence may last twice as long.
 *
 * <p>Thread-safe.
 */
final class Writer {
    private static final Logger log = LoggerFactory.getLogger(Writer.class);
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** For how long all records of a partition may be late before another producer is made. */
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The same, where other producers did not help. */
    private static final long LONGEST_SILENCE_NANOS = TimeUnit.MINUTES.toNanos(2);

    private final Supplier<Producer<byte[], byte[]>> connector;
    private final TopicPartition partition;
    private final Consumer<Throwable> missed;
    private final Clock clock;
    private volatile Producer<byte[], byte[]> producer;
    private long replacedNanos;
    /** Of each partition to which the present producer has not written since a record for it was late. */
    private final Map<TopicPartition, Long> lateSinceNanos = new HashMap<>();
    /** How long it may last, of each partition that was late when a producer was replaced, and has been ever since. */
    private final Map<TopicPartition, Long> silenceNanos = new HashMap<>();

    private boolean closed;

    /** Makes a writer that tells of each record that was missed. */
    Writer(Supplier<Producer<byte[], byte[]>> connector, TopicPartition partition, Consumer<Throwable> missed) {
        this(connector, partition, missed, Clock.system());
    }

    Writer(
            Supplier<Producer<byte[], byte[]>> connector,
            TopicPartition partition,
            Consumer<Throwable> missed,
            Clock clock) {
        this.connector = connector;
        this.partition = partition;
        this.missed = missed;
        this.clock = clock;
        replacedNanos = clock.nanos() - PAUSE_NANOS;
        producer = connector.get();
    }

    void write(Entry entry, Consumer<@Nullable Exception> done) {
        write(new ProducerRecord<>(partition.topic(), partition.partition(), entry.key(), entry.value()), done);
    }

    // the callback says what the future would
    @SuppressWarnings("FutureReturnValueIgnored")
    void write(ProducerRecord<byte[], byte[]> record, Consumer<@Nullable Exception> done) {
        var writing = producer;
        var where = new TopicPartition(record.topic(), record.partition());
        try {
            writing.send(record, (metadata, error) -> {
                if (error == null) {
                    wrote(writing, where);
                } else {
                    failed(writing, where, error);
                }
                done.accept(error);
            });
        } catch (RuntimeException e) {
            failed(writing, where, e);
            done.accept(e);
        }
    }

    private void failed(Producer<byte[], byte[]> writing, TopicPartition where, Exception error) {
        missed.accept(error);
        var over = error instanceof TimeoutException ? isSilent(writing, where) : !KafkaErrors.isOfOneRecord(error);
        if (over && isReplaced(writing, error)) {
            // without the lock: its thread tells others that what they have sent failed, and may wait for that in here
            writing.close(Duration.ZERO);
        }
    }

    private synchronized void wrote(Producer<byte[], byte[]> writing, TopicPartition where) {
        if (writing == producer) {
            lateSinceNanos.remove(where);
            silenceNanos.remove(where);
        }
    }

    /** One of its records was late: returns whether all have been for too long. */
    private synchronized boolean isSilent(Producer<byte[], byte[]> writing, TopicPartition where) {
        var now = clock.nanos();
        return writing == producer
                && now - lateSinceNanos.computeIfAbsent(where, late -> now)
                        >= silenceNanos.getOrDefault(where, SILENCE_NANOS);
    }

    private synchronized boolean isReplaced(Producer<byte[], byte[]> failed, Exception error) {
        var now = clock.nanos();
        if (closed || failed != producer || now - replacedNanos < PAUSE_NANOS) {
            return false;
        }
        replacedNanos = now;
        if (error instanceof AuthorizationException || error instanceof TimeoutException) {
            log.debug("{} cannot be written to; making a new producer, in case it is allowed again", partition, error);
        } else {
            log.warn("{} cannot be written to; making a new producer", partition, error);
        }
        try {
            producer = connector.get();
            if (error instanceof TimeoutException) {
                lateSinceNanos.keySet().forEach(this::lengthenSilence);
            }
            lateSinceNanos.clear(); // the new one has its whole time with each of them
            return true;
        } catch (RuntimeException e) { // somebody may be writing the file of its certificates
            log.debug("no new producer could be made; trying again", e);
            return false;
        }
    }

    private void lengthenSilence(TopicPartition where) {
        silenceNanos.compute(
                where,
                (same, silence) -> Math.min(2 * (silence == null ? SILENCE_NANOS : silence), LONGEST_SILENCE_NANOS));
    }

    void close(Duration patience) {
        synchronized (this) {
            closed = true;
        }
        producer.close(patience);
    }
}

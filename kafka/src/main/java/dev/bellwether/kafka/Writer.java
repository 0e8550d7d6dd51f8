package dev.bellwether.kafka;

import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
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
 * they have under way. So whenever another one did not help a partition, its silence may last twice as long. One
 * whose thread has died of an error tells nothing at all: the next write has it replaced.
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
    private final long muteNanos;
    private final Consumer<Throwable> missed;
    private final Clock clock;
    private volatile Producer<byte[], byte[]> producer;
    private long replacedNanos;
    /** How many records the present producer has under way, and since when it has told of none of them. */
    private int underWay;

    private long mutedNanos;
    /** Of each partition to which the present producer has not written since a record for it was late. */
    private final Map<TopicPartition, Long> lateSinceNanos = new HashMap<>();
    /** How long it may last, of each partition that was late when a producer was replaced, and has been ever since. */
    private final Map<TopicPartition, Long> silenceNanos = new HashMap<>();

    /** Of each topic to which something was written since brokers last took anything there. */
    private final Map<String, Untaken> untaken = new HashMap<>();

    private final ToldFailures failures = new ToldFailures(); // for which another producer was needed
    private boolean closed;

    /** Since when brokers take nothing, and the last reason that was told. */
    private record Untaken(long nanos, @Nullable Exception why) {}

    /** Makes a writer, whose producers tell of each record within this time, and that tells of each one missed. */
    Writer(
            Supplier<Producer<byte[], byte[]>> connector,
            TopicPartition partition,
            Duration delivery,
            Consumer<Throwable> missed) {
        this(connector, partition, delivery, missed, Clock.system());
    }

    Writer(
            Supplier<Producer<byte[], byte[]>> connector,
            TopicPartition partition,
            Duration delivery,
            Consumer<Throwable> missed,
            Clock clock) {
        this.connector = connector;
        this.partition = partition;
        muteNanos = delivery.toNanos() + SILENCE_NANOS;
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
        replaceIfMute();
        var where = new TopicPartition(record.topic(), record.partition());
        var writing = sending(record.topic());
        try {
            writing.send(record, (metadata, error) -> {
                told(writing);
                if (error == null) {
                    wrote(writing, where);
                } else {
                    failed(writing, where, error);
                }
                done.accept(error);
            });
        } catch (RuntimeException e) {
            told(writing);
            failed(writing, where, e);
            done.accept(e);
        }
    }

    /** Each record is told of within the delivery timeout, by a thread that any error ends silently. */
    private void replaceIfMute() {
        var writing = producer;
        if (isMute(writing) && isReplaced(writing, new TimeoutException("the producer tells nothing any more"))) {
            writing.close(Duration.ZERO);
        }
    }

    private synchronized boolean isMute(Producer<byte[], byte[]> writing) {
        return writing == producer && underWay > 0 && clock.nanos() - mutedNanos >= muteNanos;
    }

    private synchronized Producer<byte[], byte[]> sending(String topic) {
        var now = clock.nanos();
        if (underWay++ == 0) {
            mutedNanos = now;
        }
        untaken.putIfAbsent(topic, new Untaken(now, null));
        return producer;
    }

    private synchronized void told(Producer<byte[], byte[]> writing) {
        if (writing == producer) {
            underWay = Math.max(0, underWay - 1);
            mutedNanos = clock.nanos();
        }
    }

    /**
     * Forgets what brokers have refused there: something new was read of the topic, or nobody writes to it any more, or
     * what was refused no broker would take.
     */
    synchronized void forget(String topic) {
        untaken.remove(topic);
    }

    /** Returns why brokers take nothing that is written to this topic, if that has lasted for so long. */
    synchronized Optional<Exception> refusal(String topic, Duration longest) {
        return Optional.ofNullable(untaken.get(topic))
                .filter(since -> clock.nanos() - since.nanos >= longest.toNanos())
                .map(since -> since.why == null
                        ? new TimeoutException("nothing that is written is acknowledged")
                        : since.why);
    }

    private void failed(Producer<byte[], byte[]> writing, TopicPartition where, Exception error) {
        if (KafkaErrors.isOfItsForm(error)) {
            forget(where.topic());
        } else {
            refused(where.topic(), error);
        }
        missed.accept(error);
        var over = error instanceof TimeoutException ? isSilent(writing, where) : !KafkaErrors.isOfOneRecord(error);
        if (over && isReplaced(writing, error)) {
            // without the lock: its thread tells others that what they have sent failed, and may wait for that in here
            writing.close(Duration.ZERO);
        }
    }

    private synchronized void refused(String topic, Exception error) {
        untaken.computeIfPresent(topic, (same, since) -> new Untaken(since.nanos, error));
    }

    private synchronized void wrote(Producer<byte[], byte[]> writing, TopicPartition where) {
        untaken.remove(where.topic());
        failures.passed();
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
        if (error instanceof AuthorizationException || error instanceof TimeoutException || !failures.isNew(error)) {
            log.debug("{} cannot be written to; making a new producer, in case it is allowed again", partition, error);
        } else {
            log.warn("{} cannot be written to; making a new producer, until it can", partition, error);
        }
        try {
            producer = connector.get();
            underWay = 0;
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

package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends rows in their order, each list of them in a transaction, and stops forever at the first error. Used by one
 * thread at a time, but for what Kafka calls back.
 */
final class TransactionalSender {
    /*
     * Idempotence alone does not keep the order when a record fails: the client bumps its epoch, numbers the successors
     * again, and they are written. Therefore the producer is closed, without waiting, in the very callback that tells
     * of the failure, on the thread that would send the successors. Those that are on their way carry numbers behind
     * the gap, which the broker refuses; and a dead client closes no gap. So what a partition has got is a prefix of
     * what was sent, for readers of uncommitted records, too.
     */
    private static final Logger LOG = LoggerFactory.getLogger(TransactionalSender.class);

    private final Producer<byte[], byte[]> producer;
    private final String eventIdHeader;
    private final AtomicReference<@Nullable Failure> failure = new AtomicReference<>();

    private record Failure(int index, Exception cause) {}

    TransactionalSender(Producer<byte[], byte[]> producer, String eventIdHeader) {
        this.producer = producer;
        this.eventIdHeader = eventIdHeader;
    }

    /**
     * Puts up the fence: no earlier producer of this shard writes a record any more, and what it has not committed
     * never will be.
     */
    void open() {
        producer.initTransactions();
    }

    /**
     * Returns when all of them are in the log, in this order, in a transaction that is not committed yet.
     *
     * @param progress sent along, and made when the rows are on their way, which takes longer; null to send none, or
     *     only with the {@link #commit}
     * @throws LineStoppedException if one of them failed, or what was sent along
     * @throws ProgressRefusedException if the brokers will never take what was sent along
     */
    void append(List<Row> rows, @Nullable Supplier<ProducerRecord<byte[], byte[]>> progress)
            throws LineStoppedException, ProgressRefusedException {
        var refused = new AtomicReference<@Nullable Exception>();
        var along = false;
        try {
            producer.beginTransaction();
            for (var i = 0; i < rows.size() && failure.get() == null; i++) {
                send(rows.get(i), i);
            }
            if (progress != null && failure.get() == null) {
                along = true;
                send(progress.get(), refused);
            }
            producer.flush();
        } catch (RuntimeException e) {
            if (failure.get() == null) {
                throw e;
            }
        }
        var failed = failure.get();
        if (failed != null) {
            throw new LineStoppedException(
                    rows.get(failed.index()), failed.index(), rows.size(), failed.cause(), along);
        }
        ProgressRefusedException.throwIf(refused.get()); // the rows are in the log: it was not their fault
    }

    /**
     * Returns when what was appended is committed, and this record with it.
     *
     * @param progress sent now, when all others are in the log, so that no failure of it is taken for theirs; null if
     *     it was sent along with them
     * @throws ProgressRefusedException if the brokers will never take it
     */
    void commit(@Nullable ProducerRecord<byte[], byte[]> progress) throws ProgressRefusedException {
        // never before all others are in the log: a commit that was delayed by the network may come at any time
        var refused = new AtomicReference<@Nullable Exception>();
        try {
            if (progress != null) {
                send(progress, refused);
            }
            producer.commitTransaction();
        } catch (RuntimeException e) {
            ProgressRefusedException.throwIf(refused.get());
            throw e;
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the commit fails if that did
    private void send(ProducerRecord<byte[], byte[]> progress, AtomicReference<@Nullable Exception> refused) {
        producer.send(progress, (metadata, exception) -> refused.compareAndSet(null, exception));
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the callback is told the same
    private void send(Row row, int index) {
        var watch = new Watch(index);
        try {
            producer.send(record(row), watch);
        } catch (RuntimeException e) {
            watch.onCompletion(null, e);
        }
    }

    private ProducerRecord<byte[], byte[]> record(Row row) {
        if (row.deferred()) { // it would be a tombstone
            throw new IllegalStateException(row.describe() + " was not read");
        }
        var headers = new ArrayList<Header>(4);
        headers.add(new RecordHeader(eventIdHeader, row.eventId().getBytes(UTF_8)));
        if (row.headers() != null) {
            headers.addAll(HeaderLines.read(row.headers(), eventIdHeader));
        }
        return new ProducerRecord<>(
                row.topic(),
                row.partition() < 0 ? null : row.partition(),
                row.timestamp() == -1 ? null : row.timestamp(), // Kafka refuses what is less
                row.key(),
                row.value(),
                headers);
    }

    /**
     * Ends it. Never throws: a producer that is interrupted while it ends, or whose interceptor fails, says so when it
     * has done what it could, and its owner has more to end.
     */
    void close(boolean orderly) {
        try {
            producer.close(orderly ? Duration.ofSeconds(1) : Duration.ZERO);
        } catch (RuntimeException e) {
            LOG.debug("a producer did not end as it should", e);
        }
    }

    private final class Watch implements Callback {
        private final int index;

        Watch(int index) {
            this.index = index;
        }

        @Override
        public void onCompletion(@Nullable RecordMetadata metadata, @Nullable Exception exception) {
            // the first is the one that failed; those behind it fail because the producer was closed
            if (exception != null && failure.compareAndSet(null, new Failure(index, exception))) {
                producer.close(Duration.ZERO);
            }
        }
    }
}

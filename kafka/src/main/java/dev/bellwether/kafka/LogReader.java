package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.GroupObserver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the journal of a roster, partition 0 of its topic, from its beginning and for ever, on a thread of its own. */
final class LogReader {
    private static final Logger log = LoggerFactory.getLogger(LogReader.class);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final TopicPartition partition;
    private final Supplier<KafkaConsumer<byte[], byte[]>> connector;
    private final GroupObserver observer;
    private final Thread thread;
    private volatile @Nullable KafkaConsumer<byte[], byte[]> consumer;
    private volatile boolean closed;
    private long nextOffset = -1;
    private boolean caughtUp;

    LogReader(String topic, Supplier<KafkaConsumer<byte[], byte[]>> connector, GroupObserver observer) {
        partition = new TopicPartition(topic, 0);
        this.connector = connector;
        this.observer = observer;
        thread = new Thread(this::run, "bellwether-kafka-journal-" + topic);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    void close() {
        closed = true;
        var reading = consumer;
        if (reading != null) {
            reading.wakeup();
        }
    }

    private void run() {
        while (!closed) {
            try {
                follow(connector.get());
            } catch (AuthorizationException | AuthenticationException e) {
                observer.failed(new ElectionException(
                        "not allowed to read topic \"" + partition.topic() + "\": " + e.getMessage()
                                + "; grant READ and DESCRIBE on it",
                        e));
                pause();
            } catch (KafkaException | IllegalStateException e) {
                if (!closed) {
                    log.warn("reading {} failed; trying again", partition, e);
                    pause();
                }
            }
        }
    }

    // KafkaConsumer.close(CloseOptions) is younger than the oldest client we run with
    @SuppressWarnings("deprecation")
    private void follow(KafkaConsumer<byte[], byte[]> reading) {
        try {
            consumer = reading;
            reading.assign(List.of(partition));
            if (nextOffset < 0) {
                reading.seekToBeginning(List.of(partition));
            } else {
                reading.seek(partition, nextOffset);
            }
            var end = reading.endOffsets(List.of(partition), PATIENCE).getOrDefault(partition, 0L);
            while (!closed) {
                try {
                    for (var each :
                            reading.poll(caughtUp ? LONGEST_POLL : PAUSE).records(partition)) {
                        observer.read(
                                0, each.offset(), each.timestamp(), each.value() == null ? new byte[0] : each.value());
                        nextOffset = each.offset() + 1;
                    }
                    if (!caughtUp && reading.position(partition, PATIENCE) >= end) {
                        caughtUp = true;
                        observer.caughtUp();
                    }
                } catch (WakeupException e) {
                    // to see that we are closed
                } catch (OffsetOutOfRangeException e) {
                    log.warn(
                            "{} begins anew: it was deleted and created again, or has forgotten what was not read",
                            partition);
                    observer.beganAnew();
                    nextOffset = -1;
                    reading.seekToBeginning(List.of(partition));
                }
            }
        } finally {
            consumer = null;
            reading.close(Duration.ZERO);
        }
    }

    private void pause() {
        try {
            TimeUnit.NANOSECONDS.sleep(PAUSE.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            closed = true;
        }
    }
}

package dev.bellwether.kafka;

import dev.bellwether.spi.BackendThread;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads one partition, from its beginning unless its follower wants another place, on a thread of its own. Thread-safe.
 */
final class LogTail implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LogTail.class);
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final Duration REFUSED_PAUSE = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    /** What becomes of what is read. Called on the tail's thread, in the order of the log; must not block. */
    interface Follower {
        /** A client has been made, and is to be read from. */
        default void connected(Consumer<byte[], byte[]> reading, TopicPartition partition) {}

        /** Records came in one piece; none if it was woken, or has waited long enough. */
        void read(List<ConsumerRecord<byte[], byte[]>> records);

        /** All before this offset has been read. */
        void reached(long offset);

        /** Returns whether to ask it where to begin, {@link #onward} from the log's beginning. */
        default boolean looksForItsPlace() {
            return false;
        }

        /**
         * Returns where to read on, all before this offset having been read, or the log having begun again there:
         * there, unless the follower looks for something.
         */
        default long onward(long offset) {
            return offset;
        }

        /**
         * Records that were read are gone from this offset on, or this is another topic by now; {@link #beganAgain} is
         * told next.
         */
        default void lost(long from) {}

        /** Our place in the log is gone; what is read next begins at this offset. */
        void beganAgain(long offset);

        /** We may not read. It is tried again anyway. */
        void failed(ApiException error);

        /** Returns how long to wait for records. */
        Duration patience();
    }

    private final TopicPartition partition;
    private final Supplier<? extends Consumer<byte[], byte[]>> connector;
    private final Follower follower;
    private volatile Thread thread;
    private final AtomicBoolean again = new AtomicBoolean();
    private volatile @Nullable Consumer<byte[], byte[]> consumer;
    private volatile boolean closed;
    private final AtomicInteger rereads = new AtomicInteger();
    // confined to the thread
    private long next = -1; // negative: from the beginning
    /**
     * Of the leader that wrote what is before: a client that is made again would not notice a truncation without it.
     */
    private Optional<Integer> epoch = Optional.empty();

    private final ToldFailures failures = new ToldFailures();

    LogTail(TopicPartition partition, Supplier<? extends Consumer<byte[], byte[]>> connector, Follower follower) {
        this.partition = partition;
        this.connector = connector;
        this.follower = follower;
        thread = thread();
    }

    /** What even the reading again cannot fix has another thread read again, from the beginning. */
    private Thread thread() {
        return BackendThread.of("bellwether-kafka-journal-" + partition.topic(), this::run, death -> {
            again.set(true);
            if (!closed) {
                var successor = thread();
                thread = successor;
                successor.start();
            }
        });
    }

    void start() {
        thread.start();
    }

    /** Lets the follower look around, though there may be nothing to read. */
    void wake() {
        var reading = consumer;
        if (reading != null) {
            reading.wakeup();
        }
    }

    /** Reads everything once more: the topic is another one of the same name. */
    void beginAgain() {
        log.warn("{} is read again: it may be another topic of that name, or have changed", partition);
        lookAgain();
    }

    /** Reads everything once more: somebody may have put it right. That is not told, since it may be tried for days. */
    void lookAgain() {
        again.set(true);
        wake();
    }

    /** Returns how often the log has begun again, as far as was noticed here. */
    int rereads() {
        return rereads.get();
    }

    /** Ends in its own time. */
    @Override
    public void close() {
        closed = true;
        wake();
    }

    void awaitEnd(Duration patience) {
        try {
            thread.join(patience.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // ---------------------------------------------------------------- on our thread

    private void run() {
        while (!closed) {
            try {
                follow(connector.get());
            } catch (WakeupException e) {
                // it was to look around before it had found its place: it looks for that again
            } catch (AuthorizationException | AuthenticationException e) {
                failed(e);
                follower.failed(e);
                pause(REFUSED_PAUSE);
            } catch (Exception e) {
                if (!closed) {
                    failed(e);
                    pause(PAUSE);
                }
            } catch (Error e) {
                again.set(true); // nobody knows how far it came: all is read once more
                pause(PAUSE);
                failed(e);
            }
        }
    }

    private void failed(Throwable e) {
        if (!failures.isNew(e)) {
            log.debug("reading {} failed again", partition, e);
        } else if (e instanceof Error) {
            log.error("reading {} failed; beginning again, until it can be read", partition, e);
        } else if (e instanceof AuthorizationException || e instanceof AuthenticationException) {
            log.warn("{} may not be read now: {}. Trying again, until it may", partition, e.getMessage());
        } else {
            log.warn("reading {} failed; trying again, until it can be read", partition, e);
        }
    }

    // KafkaConsumer.close(CloseOptions) is younger than the oldest client we run with
    @SuppressWarnings("deprecation")
    private void follow(Consumer<byte[], byte[]> reading) {
        try {
            consumer = reading;
            reading.assign(List.of(partition));
            follower.connected(reading, partition);
            if (next < 0 && follower.looksForItsPlace()) {
                next = follower.onward(beginning(reading));
            }
            if (next < 0) {
                reading.seekToBeginning(List.of(partition));
            } else {
                reading.seek(partition, new OffsetAndMetadata(next, epoch, ""));
            }
            while (!closed) {
                readOn(reading);
            }
        } finally {
            consumer = null;
            reading.close(Duration.ZERO); // it is in no group, and else would wait for the fetch that is under way
        }
    }

    private void readOn(Consumer<byte[], byte[]> reading) {
        try {
            if (again.getAndSet(false)) {
                try {
                    beginAgainAt(reading, beginning(reading));
                } catch (RuntimeException e) {
                    again.set(true); // it has not begun: nobody would ask for it once more
                    throw e;
                }
            }
            var records = reading.poll(follower.patience()).records(partition);
            follower.read(records);
            // compaction leaves gaps, so that the position may be beyond the last record that was seen
            if (records.isEmpty()) {
                next = Math.max(next, position(reading));
            } else {
                var last = records.get(records.size() - 1);
                next = last.offset() + 1;
                epoch = last.leaderEpoch();
            }
            follower.reached(next);
            goOn(reading, follower.onward(next));
            if (failures.passed()) {
                log.info("{} can be read again", partition);
            }
        } catch (WakeupException e) {
            // to look around, or to see that we are closed
        } catch (OffsetOutOfRangeException e) {
            try {
                outOfRange(reading, e);
            } catch (WakeupException woken) {
                // the next reading finds the same
            }
        }
    }

    /** Our place in the log is gone: retention has passed us, the end was cut off, or the topic was created again. */
    private void outOfRange(Consumer<byte[], byte[]> reading, OffsetOutOfRangeException error) {
        var beginning = beginning(reading);
        if (beginning > next && !(error instanceof LogTruncationException)) {
            log.warn("the topic lost {} before they were read: continuing at {}", partition, beginning);
        } else {
            var from = lostFrom(reading, error);
            log.warn(
                    "{} begins again: it was deleted and created again, or has lost its records from {} on",
                    partition,
                    from);
            follower.lost(from);
        }
        beginAgainAt(reading, beginning);
    }

    private long lostFrom(Consumer<byte[], byte[]> reading, OffsetOutOfRangeException error) {
        var end = reading.endOffsets(List.of(partition), PATIENCE).getOrDefault(partition, next);
        var divergent = error instanceof LogTruncationException truncation
                ? truncation.divergentOffsets().get(partition)
                : null;
        return Math.min(next, divergent == null ? end : divergent.offset());
    }

    private long beginning(Consumer<byte[], byte[]> reading) {
        return reading.beginningOffsets(List.of(partition), PATIENCE).getOrDefault(partition, 0L);
    }

    /** Returns our place, at worst the one that we know: the leader may be slow to say whether it still is one. */
    private long position(Consumer<byte[], byte[]> reading) {
        try {
            return reading.position(partition, PATIENCE);
        } catch (TimeoutException e) {
            return next;
        }
    }

    private void beginAgainAt(Consumer<byte[], byte[]> reading, long beginning) {
        rereads.incrementAndGet();
        follower.beganAgain(beginning);
        next = beginning;
        epoch = Optional.empty();
        reading.seek(partition, beginning);
        goOn(reading, follower.onward(beginning));
    }

    private void goOn(Consumer<byte[], byte[]> reading, long offset) {
        if (offset != next) {
            next = offset;
            epoch = Optional.empty();
            reading.seek(partition, offset);
        }
    }

    private void pause(Duration pause) {
        try {
            TimeUnit.NANOSECONDS.sleep(pause.toNanos());
        } catch (InterruptedException e) {
            // not by us, who close it otherwise: it reads on
        }
    }
}

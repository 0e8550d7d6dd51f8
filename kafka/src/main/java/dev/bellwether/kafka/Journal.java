package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads partition 0 of the leader topic, all of it and for ever, on a thread of its own: one for all candidacies and observers of a
 * connection.
 *
 * <p>Thread-safe. Readers are called on that thread, in the order of the log, and must not block.
 */
final class Journal implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Journal.class);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final Duration LONGEST_LOOK = Duration.ofMinutes(1);
    private static final Duration PAUSE = Duration.ofMillis(200);

    /** Somebody who follows one election. */
    interface Reader {
        /** The journal says this now; the entry is null if only time has passed, or the log has begun anew. */
        void read(@Nullable Entry entry, Page page);

        /** The journal cannot be read, and no retry will help. */
        void failed(ElectionException error);
    }

    private record Waiter(long offset, CompletableFuture<Void> reached) {}

    private final TopicPartition partition;
    private final Supplier<Consumer<byte[], byte[]>> connector;
    private final Function<ApiException, ElectionException> refusal;
    private final Clock clock;
    private final Map<String, Ledger> ledgers = new ConcurrentHashMap<>();
    private final Map<String, CopyOnWriteArrayList<Reader>> readers = new ConcurrentHashMap<>();
    private final PriorityQueue<Waiter> waiters = new PriorityQueue<>(Comparator.comparingLong(Waiter::offset));
    private final Thread thread;
    private volatile @Nullable Consumer<byte[], byte[]> consumer;
    private final AtomicBoolean changed = new AtomicBoolean();
    private volatile boolean closed;
    private volatile long nextOffset;

    /** Confined to our thread: no lease that somebody follows runs out before this. */
    private long nextExpiryNanos;

    Journal(
            TopicPartition partition,
            Supplier<Consumer<byte[], byte[]>> connector,
            Function<ApiException, ElectionException> refusal,
            Clock clock) {
        this.partition = partition;
        this.connector = connector;
        this.refusal = refusal;
        this.clock = clock;
        nextExpiryNanos = clock.nanos();
        thread = new Thread(this::run, "bellwether-kafka-journal-" + partition.topic());
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns what it says of an election, as far as it has been read. */
    Page page(String election) {
        return ledger(election).page();
    }

    /** Returns the names of the elections that somebody has claimed and nobody deleted. */
    List<String> elections() {
        return ledgers.values().stream()
                .map(Ledger::page)
                .filter(Page::listed)
                .map(Page::election)
                .toList();
    }

    /** Returns the offset up to which it has been read. */
    long nextOffset() {
        return nextOffset;
    }

    /** Completes when all records before this offset have been read. */
    CompletionStage<Void> reach(long offset) {
        var reached = new CompletableFuture<Void>();
        synchronized (waiters) {
            if (nextOffset < offset) {
                waiters.add(new Waiter(offset, reached));
                return reached;
            }
        }
        reached.complete(null);
        return reached;
    }

    void join(String election, Reader reader) {
        readers.computeIfAbsent(election, name -> new CopyOnWriteArrayList<>()).add(reader);
        changed.set(true);
        wake(); // it may have to look at the time more often now
    }

    void leave(String election, Reader reader) {
        readers.computeIfPresent(election, (name, list) -> {
            list.remove(reader);
            return list.isEmpty() ? null : list;
        });
    }

    @Override
    public void close() {
        closed = true;
        wake();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(5));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // ---------------------------------------------------------------- on our thread

    private void run() {
        while (!closed) {
            try {
                follow(connector.get());
            } catch (AuthorizationException | AuthenticationException e) {
                fail(refusal.apply(e));
                pause();
            } catch (KafkaException | IllegalStateException e) {
                if (!closed) {
                    log.warn("reading {} failed; trying again", partition, e);
                    pause();
                }
            }
        }
        synchronized (waiters) {
            waiters.forEach(waiter -> waiter.reached.cancel(false));
        }
    }

    // KafkaConsumer.close(CloseOptions) is younger than the oldest client we run with
    @SuppressWarnings("deprecation")
    private void follow(Consumer<byte[], byte[]> reading) {
        try {
            consumer = reading;
            reading.assign(List.of(partition));
            if (nextOffset == 0) {
                reading.seekToBeginning(List.of(partition));
            } else {
                reading.seek(partition, nextOffset);
            }
            readOn(reading);
        } finally {
            consumer = null;
            reading.close(Duration.ZERO); // it is in no group, and else would wait for the fetch that is under way
        }
    }

    private void readOn(Consumer<byte[], byte[]> reading) {
        while (!closed) {
            try {
                var records = reading.poll(untilNextChange());
                var now = clock.nanos(); // after the records have come, so that leases count from too late rather than
                // too
                // early
                for (var entry : records.records(partition)) {
                    read(entry, now);
                }
                var position = records.isEmpty() ? positionOf(reading) : nextOffset;
                reached(Math.max(position, nextOffset));
                tellExpiries();
            } catch (WakeupException e) {
                // to see who has joined, or that we are closed
            } catch (OffsetOutOfRangeException e) {
                outOfRange(reading);
            }
        }
    }

    /** Compaction leaves gaps, so that the position may be beyond the last record that was seen. */
    private long positionOf(Consumer<byte[], byte[]> reading) {
        return reading.position(partition, PAUSE);
    }

    private void read(ConsumerRecord<byte[], byte[]> entry, long now) {
        var parsed = Entry.parse(entry.key(), entry.value());
        parsed.ifPresent(said ->
                ledger(said.election()).read(said, entry.offset(), Instant.ofEpochMilli(entry.timestamp()), now));
        nextOffset = entry.offset() + 1; // behind what it says: whoever sees the one finds the other
        parsed.ifPresent(said -> {
            var page = page(said.election());
            if (readers.containsKey(said.election())) {
                nextExpiryNanos = soonest(nextExpiryNanos, page, now);
            }
            tell(said, page);
        });
    }

    private void reached(long position) {
        synchronized (waiters) {
            nextOffset = position;
            for (var next = waiters.peek(); next != null && next.offset <= position; next = waiters.peek()) {
                waiters.remove();
                next.reached.complete(null);
            }
        }
    }

    /** Our place in the log is gone: retention has passed us, or the topic was created anew. */
    private void outOfRange(Consumer<byte[], byte[]> reading) {
        var beginning = reading.beginningOffsets(List.of(partition), PAUSE.multipliedBy(10))
                .getOrDefault(partition, 0L);
        if (beginning > nextOffset) {
            log.warn("the topic forgot {} before they were read: going on at {}", partition, beginning);
        } else {
            log.warn("{} begins anew: it was deleted and created again, or has lost what it had", partition);
        }
        beginAnew();
        synchronized (waiters) {
            nextOffset = beginning;
        }
        reading.seek(partition, beginning);
    }

    private void beginAnew() {
        var now = clock.nanos();
        for (var ledger : ledgers.values()) {
            ledger.beginAnew(now);
            tell(null, ledger.page());
        }
    }

    private void tell(@Nullable Entry entry, Page page) {
        for (var reader : readers.getOrDefault(page.election(), new CopyOnWriteArrayList<>())) {
            reader.read(entry, page);
        }
    }

    private void fail(ElectionException error) {
        var failed = new ArrayList<Waiter>();
        synchronized (waiters) {
            failed.addAll(waiters);
            waiters.clear();
        }
        failed.forEach(waiter -> waiter.reached.completeExceptionally(error));
        readers.values().forEach(list -> list.forEach(reader -> reader.failed(error)));
    }

    /** No record tells that a lease has run out. Each is looked at when the first of them may have: a beat only puts that off. */
    private void tellExpiries() {
        var now = clock.nanos();
        if (changed.getAndSet(false) || now - nextExpiryNanos >= 0) {
            var next = now + LONGEST_LOOK.toNanos();
            for (var election : readers.keySet()) {
                var ledger = ledger(election);
                if (ledger.expiredSinceAsked(now)) {
                    tell(null, ledger.page());
                }
                next = soonest(next, ledger.page(), now);
            }
            nextExpiryNanos = next;
        }
    }

    private static long soonest(long next, Page page, long now) {
        var seat = page.seat();
        return seat != null && seat.standsAt(now) && seat.untilNanos() - next < 0 ? seat.untilNanos() : next;
    }

    private Duration untilNextChange() {
        var next = Math.min(LONGEST_POLL.toNanos(), nextExpiryNanos - clock.nanos());
        return Duration.ofNanos(Math.max(1_000_000, next));
    }

    private Ledger ledger(String election) {
        return ledgers.computeIfAbsent(election, name -> new Ledger(name, clock.nanos()));
    }

    private void wake() {
        var reading = consumer;
        if (reading != null) {
            reading.wakeup();
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

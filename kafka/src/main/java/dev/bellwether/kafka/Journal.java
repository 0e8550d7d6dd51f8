package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads partition 0 of the leader topic, all of it and for ever, on a thread of its own: one for all candidacies and
 * observers of a connection.
 *
 * <p>Thread-safe. Readers are called on that thread, in the order of the log, and must not block.
 */
final class Journal implements LogTail.Follower, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Journal.class);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final Duration LONGEST_LOOK = Duration.ofMinutes(1);

    /** Somebody who follows one election. */
    interface Reader {
        /** The journal says this now; the entry is null if only time has passed, or the log has begun anew. */
        void read(@Nullable Entry entry, Page page);

        /** The journal cannot be read: for want of a right, which may come back, or for good. */
        void failed(ElectionException error);
    }

    private record Waiter(long offset, CompletableFuture<Void> reached) {}

    private final Function<ApiException, ElectionException> refusal;
    private final Clock clock;
    private final Map<String, Ledger> ledgers = new ConcurrentHashMap<>();
    private final Map<String, CopyOnWriteArrayList<Reader>> readers = new ConcurrentHashMap<>();
    private final PriorityQueue<Waiter> waiters = new PriorityQueue<>(Comparator.comparingLong(Waiter::offset));
    private final LogTail tail;
    private final AtomicBoolean changed = new AtomicBoolean();
    private volatile long nextOffset;

    /** Confined to our thread: no lease that somebody follows runs out before this. */
    private long nextExpiryNanos;

    Journal(
            TopicPartition partition,
            Supplier<? extends Consumer<byte[], byte[]>> connector,
            Function<ApiException, ElectionException> refusal,
            Clock clock) {
        this.refusal = refusal;
        this.clock = clock;
        nextExpiryNanos = clock.nanos();
        tail = new LogTail(partition, connector, this);
        tail.start();
    }

    /** Returns what it says of an election, as far as it has been read. */
    Page page(String election) {
        var ledger = ledgers.get(election);
        return ledger == null ? Page.blank(election, clock.nanos()) : ledger.page(); // asking leaves nothing behind
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

    /** Returns how often the log has begun anew, as far as was noticed here. */
    int timesAnew() {
        return tail.timesAnew();
    }

    /** Reads everything once more: the topic is another one of the same name. */
    void beginAnew() {
        tail.beginAnew();
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
        tail.wake(); // it may have to look at the time more often now
    }

    void leave(String election, Reader reader) {
        readers.computeIfPresent(election, (name, list) -> {
            list.remove(reader);
            return list.isEmpty() ? null : list;
        });
    }

    @Override
    public void close() {
        tail.close();
        tail.awaitEnd(Duration.ofSeconds(5));
        synchronized (waiters) {
            waiters.forEach(waiter -> waiter.reached.cancel(false));
        }
    }

    // ---------------------------------------------------------------- on the tail's thread

    @Override
    public Duration patience() {
        var next = Math.min(LONGEST_POLL.toNanos(), nextExpiryNanos - clock.nanos());
        return Duration.ofNanos(Math.max(1_000_000, next));
    }

    @Override
    public void read(List<ConsumerRecord<byte[], byte[]>> records) {
        var now = clock.nanos(); // after they have come, so that leases count from too late rather than too early
        records.forEach(entry -> read(entry, now));
    }

    private void read(ConsumerRecord<byte[], byte[]> entry, long now) {
        var parsed = parsed(entry, now);
        nextOffset = entry.offset() + 1; // behind what it says: whoever sees the one finds the other
        parsed.ifPresent(said -> {
            var page = page(said.election());
            if (readers.containsKey(said.election())) {
                nextExpiryNanos = soonest(nextExpiryNanos, page, now);
            }
            tell(said, page);
        });
    }

    /**
     * Others can write to the topic too: a record that cannot be read is none, and what it is beside is read all the
     * same.
     */
    private Optional<Entry> parsed(ConsumerRecord<byte[], byte[]> entry, long now) {
        try {
            var parsed = Entry.parse(entry.key(), entry.value());
            parsed.ifPresent(said ->
                    ledger(said.election()).read(said, entry.offset(), Instant.ofEpochMilli(entry.timestamp()), now));
            return parsed;
        } catch (RuntimeException e) {
            log.warn("the record at offset {} of the journal cannot be read, and is left out", entry.offset(), e);
            return Optional.empty();
        }
    }

    @Override
    public void reached(long position) {
        synchronized (waiters) {
            nextOffset = position;
            for (var next = waiters.peek(); next != null && next.offset <= position; next = waiters.peek()) {
                waiters.remove();
                next.reached.complete(null);
            }
        }
        tellExpiries();
    }

    @Override
    public void beganAnew(long beginning) {
        var now = clock.nanos();
        for (var ledger : ledgers.values()) {
            ledger.beginAnew(now);
            tell(null, ledger.page());
        }
        synchronized (waiters) {
            nextOffset = beginning;
        }
    }

    private void tell(@Nullable Entry entry, Page page) {
        for (var reader : readers.getOrDefault(page.election(), new CopyOnWriteArrayList<>())) {
            try {
                reader.read(entry, page);
            } catch (RuntimeException e) {
                log.error("a reader of election \"{}\" has failed", page.election(), e);
            }
        }
    }

    @Override
    public void failed(ApiException refused) {
        var error = refusal.apply(refused);
        var failed = new ArrayList<Waiter>();
        synchronized (waiters) {
            failed.addAll(waiters);
            waiters.clear();
        }
        failed.forEach(waiter -> waiter.reached.completeExceptionally(error));
        readers.values().forEach(list -> list.forEach(reader -> reader.failed(error)));
    }

    /**
     * No record tells that a lease has run out. Each is looked at when the first of them may have: a beat only puts
     * that off.
     */
    private void tellExpiries() {
        var now = clock.nanos();
        if (changed.getAndSet(false) || now - nextExpiryNanos >= 0) {
            var next = now + LONGEST_LOOK.toNanos();
            for (var election : readers.keySet()) {
                var ledger = ledgers.get(election);
                if (ledger == null) {
                    continue;
                }
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

    private Ledger ledger(String election) {
        return ledgers.computeIfAbsent(election, name -> new Ledger(name, clock.nanos()));
    }
}

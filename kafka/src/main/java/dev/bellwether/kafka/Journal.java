package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Listeners;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
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
 * Reads partition 0 of the leader topic, all of it and forever, on a thread of its own: one for all candidacies and
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
        /** The journal says this now; the entry is null if only time has passed, or the log has begun again. */
        void read(@Nullable Entry entry, ElectionState known);

        /** The journal cannot be read: for lack of a right, which may come back, or permanently. */
        void failed(ElectionException error);
    }

    private final Function<ApiException, ElectionException> refusal;
    private final Clock clock;
    private final Map<String, JournalRules> elections = new ConcurrentHashMap<>();
    private final Listeners<Reader> readers = new Listeners<>();
    private final OffsetWaiters waiters = new OffsetWaiters();
    private final LogTail tail;
    private final AtomicBoolean changed = new AtomicBoolean();
    private volatile long nextOffset;
    private volatile @Nullable ElectionException alien; // others hold elections here by other rules

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
    ElectionState known(String election) {
        var rules = elections.get(election);
        return rules == null
                ? ElectionState.blank(election, clock.nanos())
                : rules.known(); // asking leaves nothing behind
    }

    /** Returns the names of the elections that somebody has claimed and nobody deleted. */
    List<String> elections() {
        return elections.values().stream()
                .map(JournalRules::known)
                .filter(ElectionState::listed)
                .map(ElectionState::election)
                .toList();
    }

    /** Returns the offset up to which it has been read. */
    long nextOffset() {
        return nextOffset;
    }

    /** Returns how often the log has begun again, as far as was noticed here. */
    int rereads() {
        return tail.rereads();
    }

    /** Reads everything once more: the topic is another one of the same name. */
    void beginAgain() {
        tail.beginAgain();
    }

    /** Completes when all records before this offset have been read. */
    CompletionStage<Void> reach(long offset) {
        var error = alien;
        return error == null ? waiters.reach(offset) : CompletableFuture.failedStage(error);
    }

    Watch join(String election, Reader reader) {
        var joined = readers.add(election, reader);
        var error = alien;
        if (error != null) {
            reader.failed(error);
        }
        changed.set(true);
        tail.wake(); // it may have to look at the time more often now
        return joined;
    }

    @Override
    public void close() {
        tail.close();
        tail.awaitEnd(Duration.ofSeconds(5));
        waiters.cancel();
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
        nextOffset = entry.offset() + 1; // behind what it says: anybody who sees the one finds the other
        parsed.ifPresent(said -> {
            var known = known(said.election());
            if (readers.has(said.election())) {
                nextExpiryNanos = soonest(nextExpiryNanos, known, now);
            }
            tell(said, known);
        });
    }

    /**
     * Others can write to the topic too: a record that cannot be read is none, and the records beside it are read.
     */
    private Optional<Entry> parsed(ConsumerRecord<byte[], byte[]> entry, long now) {
        try {
            if (alien == null && LogEntry.isOfLog(entry.value())) {
                var error = new ElectionException(
                        "topic \"" + entry.topic() + "\" holds elections by its log alone, and two would lead beside"
                                + " each other: add " + Settings.BY + "=log, or name another topic");
                alien = error;
                fail(error);
            }
            var parsed = Entry.parse(entry.key(), entry.value());
            parsed.ifPresent(said ->
                    rules(said.election()).read(said, entry.offset(), Instant.ofEpochMilli(entry.timestamp()), now));
            return parsed;
        } catch (RuntimeException e) {
            log.warn("the record at offset {} of the journal cannot be read, and is ignored", entry.offset(), e);
            return Optional.empty();
        }
    }

    @Override
    public void reached(long position) {
        nextOffset = position;
        waiters.reached(position);
        tellExpiries();
    }

    @Override
    public void beganAgain(long beginning) {
        alien = null; // it is found again, if it is still there
        var now = clock.nanos();
        for (var rules : elections.values()) {
            rules.beginAgain(now);
            tell(null, rules.known());
        }
        nextOffset = beginning;
        waiters.beginAt(beginning);
    }

    private void tell(@Nullable Entry entry, ElectionState known) {
        readers.tell(known.election(), reader -> reader.read(entry, known));
    }

    @Override
    public void failed(ApiException refused) {
        fail(refusal.apply(refused));
    }

    private void fail(ElectionException error) {
        waiters.fail(error);
        readers.tellAll(reader -> reader.failed(error));
    }

    /**
     * No record tells that a lease has run out. Each is looked at when the first of them may have: a beat only puts
     * that off.
     */
    private void tellExpiries() {
        var now = clock.nanos();
        if (changed.getAndSet(false) || now - nextExpiryNanos >= 0) {
            var next = now + LONGEST_LOOK.toNanos();
            for (var election : readers.names()) {
                var rules = elections.get(election);
                if (rules == null) {
                    continue;
                }
                if (rules.expiredSinceAsked(now)) {
                    tell(null, rules.known());
                }
                next = soonest(next, rules.known(), now);
            }
            nextExpiryNanos = next;
        }
    }

    private static long soonest(long next, ElectionState known, long now) {
        var seat = known.seat();
        return seat != null && seat.standsAt(now) && seat.untilNanos() - next < 0 ? seat.untilNanos() : next;
    }

    private JournalRules rules(String election) {
        return elections.computeIfAbsent(election, name -> new JournalRules(name, clock.nanos()));
    }
}

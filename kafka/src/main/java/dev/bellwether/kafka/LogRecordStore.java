package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.kafka.LogEntry.Attempt;
import dev.bellwether.kafka.LogEntry.How;
import dev.bellwether.kafka.LogMachine.Kept;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records in the log of one topic: a write is appended, and whether it is in effect is read there. One consumer, one
 * producer and one admin client are for all elections of a connection.
 *
 * <p>Thread-safe. Never blocks, but in {@link #open}, {@link #findings} and {@link #close}.
 */
final class LogRecordStore implements RecordStore, LogTail.Follower {
    private static final Logger log = LoggerFactory.getLogger(LogRecordStore.class);
    private static final Duration START_PATIENCE = Duration.ofSeconds(10);
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final Duration PRESENCE = Duration.ofMinutes(10);
    private static final Duration IDLE = Duration.ofSeconds(1);
    private static final Duration BUSY = Duration.ofMillis(50);
    /** So many of the last records are looked at first: any of them tells where to begin. */
    private static final int RECENT = 100;

    private static final int CROWD = 1_000;
    /** A topic that will not do is looked at again if somebody asks so much later. */
    private static final Duration LOOK_AGAIN = Duration.ofSeconds(10);

    /** Which part of the log is read, as long as no base is found. */
    private enum Search {
        /** It is not known yet what there is. */
        BEGUN,
        /** The last records. */
        RECENT,
        /** From where one of those says that it is enough. */
        HINTED,
        /** All of it. */
        ALL,
        /** The search is over; what comes is read. */
        OVER
    }

    /** What has been read of an attempt of ours. */
    private record Outcome(CompletableFuture<Written> answer, Written written) {}

    private final Settings settings;
    private final TopicPartition partition;
    private final AdminConnection admin;
    private final LeaderTopic topic;
    private final LogWriter writer;
    private final LogTail tail;
    private final LogIdentity identity;
    private final CoalescedRequest<Boolean> sameLog;
    private final CoalescedRequest<Long> end = new CoalescedRequest<>(this::askForTheEnd);
    private final OffsetWaiters waiters = new OffsetWaiters();
    private final Map<String, CompletableFuture<Written>> pending = new ConcurrentHashMap<>(); // not read yet
    private final Listeners<java.util.function.Consumer<Found>> watchers = new Listeners<>();
    private final Supplier<String> ids;

    private final LogMachine machine; // guards itself, and what follows
    private final LogKeeper keeper;
    private final List<Outcome> outcomes = new ArrayList<>();
    private final Map<String, Found> changes = new LinkedHashMap<>();
    private boolean isWhole; // all was read, and there is no base
    private boolean isKeeping;
    private @Nullable Uuid lossy; // the topic that has lost records which were read
    private String settledEpoch = "";
    private long lastMillis;
    private long lastNanos = System.nanoTime();

    private volatile String session = "";
    private volatile String announced = ""; // what was told last of a log that begins again
    private volatile @Nullable ElectionException broken; // what a person must fix
    private volatile long brokenNanos;

    // confined to the thread of the tail
    private @Nullable Consumer<byte[], byte[]> reading;
    private Search search = Search.BEGUN;
    private long first;
    private long from;
    private long searchedTo = Long.MAX_VALUE; // so far there was something to read when we began

    private LogRecordStore(
            Settings settings, String id, AdminConnection admin, LeaderTopic topic, @Nullable Uuid first) {
        this.settings = settings;
        this.admin = admin;
        this.topic = topic;
        partition = new TopicPartition(settings.topic(), 0);
        machine = new LogMachine(new LogMachine.Witness() {
            @Override
            public void judged(Attempt attempt, boolean done, long revision) {
                var mine = pending.remove(attempt.id());
                if (mine != null) {
                    outcomes.add(new Outcome(
                            mine, done ? Written.at(revision, written(attempt.name())) : Written.outdated(revision)));
                }
            }

            @Override
            public void changed(String name, @Nullable Kept kept) {
                if (watchers.has(name) && isUsable()) {
                    changes.put(name, found(kept));
                }
            }
        });
        var random = new SecureRandom();
        ids = () -> Long.toHexString(random.nextLong()) + '.' + Long.toHexString(System.nanoTime());
        keeper = new LogKeeper(
                LogKeeper.Rules.TRUE,
                settings.longestLease(),
                () -> ThreadLocalRandom.current().nextDouble(),
                ids);
        writer = new LogWriter(
                partition,
                new Writer(() -> settings.writer(id + "-writer"), partition, settings.delivery(), topic::missed));
        tail = new LogTail(partition, () -> new KafkaConsumer<>(settings.reader(id + "-reader")), this);
        identity = new LogIdentity(first, topic::identity, tail::rereads, this::readAgain);
        sameLog = new CoalescedRequest<>(() -> topic.orMissed(identity.isSame()));
        waiters.beginAt(-1);
    }

    /**
     * Looks whether brokers answer, and whether the topic will do; creates it if it may.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if no broker answers
     */
    static LogRecordStore open(Settings settings) {
        var id = "bellwether-" + Long.toHexString(ThreadLocalRandom.current().nextLong());
        var admin = new AdminConnection(() -> KafkaArbiter.admin(settings, settings.questions(id + "-admin")));
        LogRecordStore store = null;
        try {
            var topic = new LeaderTopic(settings, admin);
            topic.require(START_PATIENCE);
            var identity = topic.identityWithin(START_PATIENCE);
            if (Uuid.ZERO_UUID.equals(identity)) {
                throw new ElectionException("the brokers at " + settings.bootstrap()
                        + " give topics no ids, so a topic that was deleted and created again could not be recognised: "
                        + " by=log needs Kafka 3.0 or newer, with KRaft or inter.broker.protocol.version=2.8 or later");
            }
            store = new LogRecordStore(settings, id, admin, topic, identity);
            store.tail.start();
            return store;
        } catch (RuntimeException | Error e) { // the last may find no thread
            if (store != null) {
                store.writer.close();
            }
            admin.close(Duration.ZERO);
            throw e;
        }
    }

    private void readAgain() {
        topic.replaced();
        tail.beginAgain();
    }

    @Override
    public String describe() {
        return "topic " + settings.topic() + " of the Kafka cluster at " + settings.bootstrap();
    }

    @Override
    public String scope() {
        return "topic";
    }

    @Override
    public RecordTraits traits() {
        return RecordTraits.PLAIN.listing(PRESENCE);
    }

    @Override
    public String session() {
        return session;
    }

    @Override
    public boolean isCrowded() {
        return pending.size() > CROWD || writer.waiting() > CROWD;
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        if (config.lease().compareTo(settings.longestLease()) > 0) {
            throw new ElectionException("lease is " + Durations.show(config.lease()) + ", and "
                    + Settings.LONGEST_LEASE + " is " + Durations.show(settings.longestLease())
                    + ": make the lease shorter, or set " + Settings.LONGEST_LEASE + "="
                    + config.lease().toMillis() + "ms in all processes that use topic " + settings.topic());
        }
    }

    @Override
    public List<Finding> findings(CandidacyConfig config) {
        return KafkaDoctor.ofLog(admin, settings);
    }

    private Instant written(String name) {
        return machine.kept(name)
                .map(kept -> Instant.ofEpochMilli(kept.writtenMillis()))
                .orElse(Instant.EPOCH);
    }

    // ---------------------------------------------------------------- records

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        var name = LogKey.name(key);
        return answered(
                upToDate().thenApply(done -> {
                    synchronized (machine) {
                        requireSettled();
                        return found(machine.kept(name).orElse(null));
                    }
                }),
                timeout);
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        return attempt(How.WRITE, key, expected, draft.text(), Duration.ZERO, timeout);
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        return attempt(How.PUT, key, 0, text, kept, timeout);
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        return attempt(How.REMOVE, key, 0, "", Duration.ZERO, timeout);
    }

    private CompletionStage<Written> attempt(
            How how, RecordKey key, long expected, String text, Duration kept, Duration timeout) {
        if (text.length() > LogEntry.LONGEST_TEXT) {
            return CompletableFuture.failedStage(new ElectionException("a record of \"" + key.election() + "\" has "
                    + text.length() + " characters, and " + describe() + " keeps no more than "
                    + LogEntry.LONGEST_TEXT + ": shorten the candidate's metadata"));
        }
        var name = LogKey.name(key);
        boolean isReady;
        String behind;
        synchronized (machine) {
            isReady = broken == null && keeper.mayWrite(machine);
            behind = machine.epoch();
        }
        var ready = isReady ? CompletableFuture.<Void>completedStage(null) : upToDate();
        return answered(ready.thenCompose(done -> append(how, name, behind, expected, text, kept, timeout)), timeout);
    }

    private CompletionStage<Written> append(
            How how, String name, String behind, long expected, String text, Duration kept, Duration timeout) {
        var mine = new CompletableFuture<Written>();
        var number = ids.get(); // drawn now: a copy of this process has all that was drawn before
        Attempt attempt;
        synchronized (machine) {
            requireSettled();
            if (how == How.WRITE && !behind.equals(machine.epoch())) { // the revision is of another log
                throw new UnavailableException(describe() + " has begun again");
            }
            if (!keeper.mayWrite(machine)) {
                throw new UnavailableException(describe() + " is being told that " + Settings.LONGEST_LEASE + " is "
                        + Durations.show(settings.longestLease()) + " now");
            }
            var present = machine.kept(name).map(Kept::revision).orElse(0L);
            if (how == How.WRITE && expected < present) {
                return CompletableFuture.completedStage(Written.outdated(present)); // revisions only rise
            }
            pending.put(number, mine);
            attempt = new Attempt(how, name, machine.epoch(), number, expected, kept.toMillis(), machine.hint(), text);
        }
        writer.append(attempt, timeout, error -> {
            if (error != null && pending.remove(number) != null) {
                mine.completeExceptionally(error);
            }
        });
        return mine.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
                .whenComplete((written, error) -> pending.remove(number));
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        return answered(
                upToDate().thenApply(done -> {
                    synchronized (machine) {
                        requireSettled();
                        var now = now();
                        var keys = machine.keptBelow(LogKey.beginning(beginning, parts)).entrySet().stream()
                                .filter(entry -> !entry.getValue().isOver(now))
                                .flatMap(entry -> LogKey.parse(entry.getKey(), parts).stream())
                                .toList();
                        return new Listing(keys, Optional.of(Instant.ofEpochMilli(now)), true);
                    }
                }),
                timeout);
    }

    @Override
    public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return answered(
                upToDate().thenApply(done -> {
                    synchronized (machine) {
                        requireSettled();
                        return machine.revisions();
                    }
                }),
                timeout);
    }

    @Override
    public Watch watch(RecordKey key, java.util.function.Consumer<Found> heard) {
        return watchers.add(LogKey.name(key), heard);
    }

    /** The caller holds the lock. */
    private Found found(@Nullable Kept kept) {
        if (kept == null || kept.isOver(now())) {
            // all leases from before were over when this was settled, and nothing was dropped since
            return new Found(What.EXPIRED, machine.settledRevision(), Instant.EPOCH, "");
        }
        var what = kept.text().isEmpty() ? What.DELETED : What.TEXT;
        return new Found(what, kept.revision(), Instant.ofEpochMilli(kept.writtenMillis()), kept.text());
    }

    /** Returns the time by the clock that dates the records, about; the caller holds the lock. */
    private long now() {
        return lastMillis == 0
                ? System.currentTimeMillis()
                : lastMillis + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastNanos);
    }

    // ---------------------------------------------------------------- up to date

    /** Completes when all that the log held when we asked has been read. */
    private CompletionStage<Void> upToDate() {
        if (broken != null && System.nanoTime() - brokenNanos > LOOK_AGAIN.toNanos()) {
            brokenNanos = System.nanoTime();
            tail.lookAgain(); // somebody may have fixed it
            var unused = end.ask(); // or taken it away: then it is created again
        }
        synchronized (machine) {
            var vain = unavailable();
            if (vain.isPresent()) {
                return CompletableFuture.failedStage(vain.get());
            }
        }
        return end.ask().thenCompose(waiters::reach);
    }

    private CompletionStage<Long> askForTheEnd() {
        long next;
        synchronized (machine) {
            next = machine.next();
        }
        var latest = topic.orMissed(admin.ask(client -> client.listOffsets(Map.of(partition, OffsetSpec.latest()))
                        .partitionResult(partition))
                .toCompletionStage());
        return sameLog.ask().thenCombine(latest, (same, found) -> {
            requireSame(same);
            if (found.offset() < next) {
                throw new UnavailableException(
                        describe() + " has lost its end, or a broker answers for it that does not"
                                + " lead it any more: it ends at " + found.offset() + ", and was read up to " + next);
            }
            return found.offset();
        });
    }

    private void requireSame(boolean same) {
        if (!same) {
            throw new UnavailableException(describe() + " was deleted and created again: it is being read");
        }
    }

    /** The caller holds the lock. */
    private void requireSettled() {
        var vain = unavailable();
        if (vain.isPresent()) {
            throw vain.get();
        }
        if (!isUsable()) {
            throw new UnavailableException(describe() + " is being read");
        }
    }

    /** Returns whether what has been read counts; the caller holds the lock. */
    private boolean isUsable() {
        return machine.isSettled() && !keeper.isLost(machine);
    }

    /** Returns why it is in vain to wait until the log is read; the caller holds the lock. */
    private Optional<ElectionException> unavailable() {
        var error = broken;
        if (error != null) {
            return Optional.of(error);
        }
        if (isUsable() || (!machine.isBased() && !isWhole)) {
            return Optional.empty();
        }
        return Optional.of(new UnavailableException(describe()
                + " is new, was deleted and created again, or has lost what it held. Nobody can be elected for another "
                + Durations.show(keeper.remaining(machine, System.nanoTime()))
                + ", until the leases of former leaders are over (" + Settings.LONGEST_LEASE + "="
                + Durations.show(machine.isBased() ? machine.longest() : settings.longestLease()) + ")"));
    }

    private <T> CompletionStage<T> answered(CompletionStage<T> stage, Duration timeout) {
        var bounded = stage.toCompletableFuture().copy().orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
        return KafkaErrors.translated(bounded, settings, describe());
    }

    // ---------------------------------------------------------------- on the tail's thread

    @Override
    public boolean looksForItsPlace() {
        return true;
    }

    @Override
    public void connected(Consumer<byte[], byte[]> reading, TopicPartition partition) {
        this.reading = reading;
    }

    @Override
    public Duration patience() {
        synchronized (machine) {
            return keeper.isBusy(machine) ? BUSY : IDLE;
        }
    }

    @Override
    public void lost(long from) {
        synchronized (machine) {
            keeper.hasLost(from);
            lossy = identity.known();
        }
    }

    @Override
    public void beganAgain(long beginning) {
        synchronized (machine) {
            keeper.learn(machine);
            keeper.forgets();
            machine.beginAt(beginning);
            isWhole = false;
            broken = null; // it is found again, if it is still there
        }
        var again = new UnavailableException(describe() + " is read once more");
        List.copyOf(pending.values()).forEach(one -> one.completeExceptionally(again));
        session = "again " + tail.rereads();
        announced = "";
        search = Search.BEGUN;
        searchedTo = Long.MAX_VALUE;
        waiters.beginAt(-1);
    }

    @Override
    public void read(List<ConsumerRecord<byte[], byte[]>> records) {
        if (records.isEmpty()) {
            return;
        }
        var entries = new ArrayList<@Nullable LogEntry>();
        for (var record : records) {
            entries.add(LogEntry.parse(record.key(), record.value()).orElse(null));
            if (!LogEntry.isOfLog(record.value())
                    && Entry.parse(record.key(), record.value()).isPresent()) {
                refuse(" holds elections by groups of consumers, and two would lead beside each other: remove "
                        + Settings.BY + "=log away, or name another topic");
            }
        }
        List<Outcome> judged;
        Map<String, Found> changed;
        boolean isInDoubt;
        synchronized (machine) {
            for (var i = 0; i < records.size(); i++) {
                machine.read(records.get(i).offset(), records.get(i).timestamp(), entries.get(i));
            }
            lastMillis = records.get(records.size() - 1).timestamp();
            lastNanos = System.nanoTime();
            if (!machine.unknown().isEmpty()) {
                refuse(" has records of version " + machine.unknown()
                        + ", which this Bellwether does not know. This process elects nobody. Run one version");
            }
            judged = List.copyOf(outcomes);
            outcomes.clear();
            if (isUsable() && !machine.epoch().equals(settledEpoch)) {
                settledEpoch = machine.epoch();
                announced = "";
                session = settledEpoch + ' ' + tail.rereads();
                watchers.names()
                        .forEach(name ->
                                changes.put(name, found(machine.kept(name).orElse(null))));
            }
            changed = Map.copyOf(changes);
            changes.clear();
            isInDoubt = machine.isInDoubt();
        }
        if (isInDoubt) { // what was judged may be of another log
            readAgain();
            var doubt = new UnavailableException(
                    describe() + " is read again: a record is behind a reset that this" + " process does not know");
            judged.forEach(outcome -> outcome.answer.completeExceptionally(doubt));
            return;
        }
        answer(judged);
        changed.forEach(this::tell);
    }

    private void refuse(String why) {
        if (broken == null) {
            brokenNanos = System.nanoTime();
        }
        broken = new ElectionException(describe() + why);
    }

    /** What was read here counts if this still is the topic that was read before. */
    private void answer(List<Outcome> judged) {
        if (judged.isEmpty()) {
            return;
        }
        var unused = sameLog.ask().whenComplete((same, error) -> {
            for (var outcome : judged) {
                if (error != null) {
                    outcome.answer.completeExceptionally(error);
                } else if (!same) {
                    outcome.answer.completeExceptionally(
                            new UnavailableException(describe() + " was deleted and created again: it is being read"));
                } else {
                    outcome.answer.complete(outcome.written);
                }
            }
        });
    }

    private void tell(String name, Found found) {
        watchers.tell(name, watcher -> watcher.accept(found));
    }

    @Override
    public void reached(long offset) {
        Optional<ElectionException> vain;
        boolean isSettled;
        synchronized (machine) {
            machine.reached(offset);
            isSettled = isUsable();
            vain = unavailable();
        }
        if (vain.isPresent()) {
            waiters.fail(vain.get());
        } else if (isSettled) {
            waiters.reached(offset);
        }
        if (offset >= searchedTo) {
            keep();
        }
    }

    @Override
    public void failed(ApiException error) {
        var refused = KafkaErrors.translated(error, settings, describe());
        waiters.fail(refused);
        List.copyOf(pending.values()).forEach(one -> one.completeExceptionally(refused));
    }

    /** Looks for a base: where the last records say that there is one, or else from the first record on. */
    @Override
    public long onward(long offset) {
        boolean isBased;
        long hint;
        synchronized (machine) {
            isBased = machine.isBased();
            hint = machine.hint();
            isWhole = isWhole && !isBased;
            if (search == Search.OVER && !isBased && !isWhole) {
                search = Search.BEGUN; // what we knew is void: there was a gap
                searchedTo = Long.MAX_VALUE;
            }
        }
        if (isBased) {
            search = Search.OVER;
            return offset;
        }
        switch (search) {
            case BEGUN -> {
                first = beginning();
                searchedTo = end();
                search = Search.RECENT;
                return begin(Math.max(first, searchedTo - RECENT));
            }
            case RECENT -> {
                if (offset >= searchedTo && from > first) {
                    var hinted = hint >= first && hint < from;
                    search = hinted ? Search.HINTED : Search.ALL;
                    return begin(hinted ? hint : first);
                }
            }
            case HINTED -> {
                if (offset >= searchedTo) {
                    search = Search.ALL;
                    return begin(first);
                }
            }
            case ALL, OVER -> {}
        }
        if (search != Search.OVER && offset >= searchedTo) {
            searchedTo = end();
            if (offset >= searchedTo) {
                search = Search.OVER;
                synchronized (machine) {
                    isWhole = true;
                }
            }
        }
        return offset;
    }

    private long begin(long offset) {
        from = offset;
        synchronized (machine) {
            machine.beginAt(offset);
        }
        return offset;
    }

    private long beginning() {
        return requireReading().beginningOffsets(List.of(partition), PATIENCE).getOrDefault(partition, 0L);
    }

    private long end() {
        return requireReading().endOffsets(List.of(partition), PATIENCE).getOrDefault(partition, 0L);
    }

    private Consumer<byte[], byte[]> requireReading() {
        return Objects.requireNonNull(reading, "not connected");
    }

    /** Writes what is due that there may always be a base to start from. */
    private void keep() {
        LogKeeper.Plan plan;
        synchronized (machine) {
            keeper.learn(machine);
            if (isKeeping || broken != null) {
                return;
            }
            plan = keeper.due(machine, isWhole, System.nanoTime());
            isKeeping = !plan.isEmpty();
        }
        if (plan.isEmpty()) {
            return;
        }
        try {
            ask(plan);
        } catch (Throwable e) { // out of memory, for example: it is asked again
            synchronized (machine) {
                isKeeping = false;
            }
            throw e;
        }
    }

    private void ask(LogKeeper.Plan plan) {
        var unused = end.ask().whenComplete((found, error) -> {
            synchronized (machine) {
                isKeeping = false;
                if (error == null && !Objects.equals(lossy, identity.known())) {
                    keeper.readsAnother();
                }
                if (error != null || isVain(plan, found)) {
                    keeper.pause(System.nanoTime());
                    return;
                }
                if (!plan.reset().isEmpty()) {
                    keeper.knows(plan.reset(), System.nanoTime());
                }
            }
            for (var entry : plan.entries()) {
                announce(entry);
                writer.append(entry, PATIENCE, failure -> {
                    if (failure != null) {
                        log.debug(
                                "{}: {} was not written",
                                describe(),
                                entry.getClass().getSimpleName(),
                                failure);
                    }
                });
            }
        });
    }

    /**
     * Anybody who has found a base that counts, or has not read all, does not begin again. The caller holds the lock.
     */
    private boolean isVain(LogKeeper.Plan plan, long end) {
        return plan.entries().stream().anyMatch(entry -> entry instanceof LogEntry.Reset)
                && (machine.isBased() ? !keeper.isLost(machine) : machine.next() < end);
    }

    /** Once in each log, however often it is tried to write that. */
    private void announce(LogEntry entry) {
        if (!(entry instanceof LogEntry.Reset || entry instanceof LogEntry.Settled)
                || announced.equals(entry.getClass().getSimpleName())) {
            return;
        }
        announced = entry.getClass().getSimpleName();
        if (entry instanceof LogEntry.Reset reset) {
            log.info(
                    "{} is new, was deleted and created again, or has lost what it held. Nobody is elected for {} ({}),"
                            + " until the leases of former leaders are over",
                    describe(),
                    Durations.show(reset.longest()),
                    Settings.LONGEST_LEASE);
        } else {
            log.info("{}: the leases of former leaders are over", describe());
        }
    }

    @Override
    public void close() {
        var interrupted = Thread.interrupted(); // what is bounded is done anyway
        try {
            tail.close();
            tail.awaitEnd(Duration.ofSeconds(5));
            waiters.cancel();
            writer.close();
        } finally { // somebody may interrupt it now
            admin.close(PATIENCE);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}

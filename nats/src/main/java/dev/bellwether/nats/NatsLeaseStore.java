package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Seats in a bucket. Thread-safe; what waits does so on a thread of its own. */
final class NatsLeaseStore implements LeaseStore {
    private static final Logger log = LoggerFactory.getLogger(NatsLeaseStore.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final Duration PROBE = Duration.ofSeconds(2);
    private static final long SIGNS_MILLIS = 30_000;
    private static final long CLOSE_SECONDS = 2;

    private final Wire wire;
    private final NatsConfig config;
    private final Bucket bucket;
    private final Seats seats;
    private final Roll roll;
    private final Survey survey;
    private final Watches watches;
    private final ScheduledThreadPoolExecutor thread;
    private final Map<String, String> electionsByKey = new ConcurrentHashMap<>(); // of those that are watched
    private final Map<Long, CompletableFuture<?>> leaving = new ConcurrentHashMap<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    private NatsLeaseStore(Wire wire, NatsConfig config, Bucket bucket, boolean writeOnly) {
        this.wire = wire;
        this.config = config;
        this.bucket = bucket;
        seats = new Seats(wire, config, bucket, writeOnly);
        var presence = presence(config.presence(), bucket.ttl());
        roll = new Roll(wire, presence, bucket.messageTtl() && wire.serverIsAtLeast("2.11.0"));
        survey = new Survey(wire, seats, roll, config.choria());
        var name = "bellwether-nats-" + SERIAL.incrementAndGet();
        thread = new ScheduledThreadPoolExecutor(1, task -> {
            var made = new Thread(task, name);
            made.setDaemon(true);
            return made;
        });
        thread.setRemoveOnCancelPolicy(true);
        watches = new Watches(wire, config.choria() ? ">" : "*", thread, this::heard);
        wire.signs().onSilence(this::whenSilent);
        if (!config.choria()) {
            var period = Math.min(SIGNS_MILLIS, presence.toMillis() / 4);
            var unused = thread.scheduleWithFixedDelay(this::giveSigns, period, period, TimeUnit.MILLISECONDS);
        }
    }

    /** The server drops the keys of standbys, too. */
    private static Duration presence(Duration wanted, Duration ttl) {
        return ttl.isZero() || ttl.compareTo(wanted) > 0 ? wanted : ttl;
    }

    /**
     * Finds or makes the bucket.
     *
     * @throws ElectionException if something is wrong that a person must mend
     * @throws UnavailableException if JetStream does not answer
     */
    static NatsLeaseStore open(Wire wire, NatsConfig config) {
        var bucket = Bucket.open(wire, config);
        return new NatsLeaseStore(wire, config, bucket, config.choria() && !mayRead(wire));
    }

    /** Choria's brokers may not let us. On a connection of the user's we are not told that, and take silence for it. */
    private static boolean mayRead(Wire wire) {
        try {
            var unused = wire.read("bellwether", PROBE).join();
            return true;
        } catch (CompletionException e) {
            var denied = e.getCause() instanceof AccessRefusedException;
            if (denied || !wire.isOwned()) {
                log.info(
                        "{} may not publish to {}, or is not answered there: standing without reading, as Choria's candidates do",
                        wire,
                        wire.rightToRead());
                return false;
            }
            return true;
        }
    }

    @Override
    public String describe() {
        return wire.toString();
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig candidacy) {
        return config.backoff().isPresent() && candidacy.standbyBackoff().isEmpty()
                ? candidacy.toBuilder().standbyBackoff(config.backoff().get()).build()
                : candidacy;
    }

    @Override
    public void check(String election, CandidacyConfig candidacy) {
        if (config.choria() && !Keys.isKey(election)) {
            throw new ElectionException("election name \"" + election
                    + "\" is no key of a bucket: Choria's elections have" + " names of letters, digits and - / _ = .");
        }
        var ttl = bucket.ttl();
        var lease = candidacy.lease();
        if (config.choria() && lease.compareTo(ttl.multipliedBy(3).dividedBy(4)) > 0) {
            throw new ElectionException(
                    "lease " + Durations.show(lease) + " is longer than three quarters of the TTL "
                            + Durations.show(ttl) + " of " + wire
                            + ": a leader of Choria's would lead before it is over, if ours was evicted and did not hear of it");
        }
        if (!ttl.isZero() && lease.compareTo(ttl) >= 0) {
            throw new ElectionException("lease " + Durations.show(lease) + " is not shorter than the TTL "
                    + Durations.show(ttl) + " of " + wire
                    + ": the server would drop the key under a leader; shorten the lease, or use a bucket with a longer TTL,"
                    + " or with none");
        }
        checkBackoff(candidacy, ttl);
        if (bucket.replicas() > 1 && lease.compareTo(Bucket.FAIL_OVER) <= 0) {
            var brief = Bucket.tooShort(election, lease);
            log.warn("{}: {}; {}", wire, brief.says(), brief.remedy());
        }
    }

    /** A standby that is away for longer would miss when a key is dropped, and a winner by Choria's rules when to confirm. */
    private void checkBackoff(CandidacyConfig candidacy, Duration ttl) {
        var longest = ttl.multipliedBy(3).dividedBy(5);
        if (!ttl.isZero()
                && candidacy
                        .standbyBackoff()
                        .filter(backoff -> backoff.compareTo(longest) > 0)
                        .isPresent()) {
            throw new ElectionException("standbyBackoff "
                    + Durations.show(candidacy.standbyBackoff().get()) + " is longer than three fifths of the TTL "
                    + Durations.show(ttl) + " of " + wire
                    + ": with its jitter, a standby would come back after the server has dropped the key; make it "
                    + Durations.show(longest) + " or shorter");
        }
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        var all = new ArrayList<Finding>();
        var lease = new Finding.Term("lease", candidacy.lease());
        var retry = new Finding.Term("retry", candidacy.retryInterval());
        all.add(Finding.atMost("crash", lease, retry));
        all.add(Finding.atMost("freeze", lease, retry));
        all.add(Finding.atMost("hand-over", new Finding.Term("stand-down budget", candidacy.standDownBudget())));
        all.add(Finding.ok("clock", "no server's clock decides: each candidate waits for the lease by its own"));
        all.addAll(Bucket.findings(wire, config, candidacy));
        if (seats.isWriteOnly()) {
            all.add(Finding.warning("rights", seats.cannotRead(), "grant it, as docs/nats.md says"));
        } else if (bucket.replicas() > 1) {
            survey.leases().forEach((election, held) -> {
                if (held.compareTo(Bucket.FAIL_OVER) <= 0) {
                    all.add(Bucket.tooShort(election, held));
                }
            });
        }
        return all;
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        var first = !config.choria() && roll.enrol(claim);
        if (first) {
            roll.askPriorities(claim.election());
        }
        return seats.acquire(claim, first).thenApply(this::withPriority);
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        return leases.stream()
                .<CompletionStage<Answer>>map(lease -> seats.renew(lease).thenApply(this::withPriority))
                .toList();
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        var released = seats.release(claim);
        var id = SERIAL.incrementAndGet();
        var left = released.<Boolean>handle((answer, error) -> true).thenCompose(done -> roll.strike(claim));
        leaving.put(id, left);
        var unused = left.thenRun(() -> leaving.remove(id));
        return released.thenApply(this::withPriority);
    }

    @Override
    public CompletionStage<View> read(String election) {
        return survey.read(election);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        if (seats.isWriteOnly()) {
            return Watch.NONE;
        }
        var key = seats.key(election);
        Consumer<View> told = view -> watcher.accept(roll.complete(view, view.candidates()));
        electionsByKey.put(key, election);
        seats.watch(election, told);
        watches.add(key);
        var ended = new AtomicBoolean();
        return () -> {
            if (ended.compareAndSet(false, true)) {
                if (seats.unwatch(election, told)) {
                    electionsByKey.remove(key);
                }
                watches.remove(key);
            }
        };
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return seats.order(election, order);
    }

    @Override
    public CompletionStage<List<String>> list() {
        return survey.list();
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        var interrupted = Thread.interrupted(); // what is bounded is done all the same
        try {
            interrupted |= isInterruptedIn(() -> {
                try {
                    CompletableFuture.allOf(leaving.values().toArray(CompletableFuture[]::new))
                            .get(CLOSE_SECONDS, TimeUnit.SECONDS);
                } catch (ExecutionException | TimeoutException e) {
                    log.debug("{}: not all have left: {}", wire, e.getMessage()); // what they left behind runs out
                }
            });
            thread.execute(watches::close);
            thread.shutdown();
            interrupted |= isInterruptedIn(() -> {
                if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                    thread.shutdownNow();
                }
            });
        } finally {
            wire.close();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Something that waits for a while. */
    private interface Waiting {
        void await() throws InterruptedException;
    }

    /** Waits, from the beginning again if that is interrupted; returns whether it was. */
    private static boolean isInterruptedIn(Waiting waiting) {
        try {
            waiting.await();
            return false;
        } catch (InterruptedException e) {
            try {
                waiting.await();
            } catch (InterruptedException again) {
                log.debug("interrupted twice while closing", again);
            }
            return true;
        }
    }

    /** What is heard is a hint: one that cannot be read, or that a watcher fails on, hurts no other. */
    private void heard(Found found) {
        var election = electionsByKey.get(found.key());
        if (election == null) {
            return;
        }
        try {
            seats.heard(election, found);
        } catch (Throwable e) {
            log.warn("{}: what was heard of \"{}\" is not taken notice of", wire, election, e);
        }
    }

    /** Else an error would be the end of all further signs, and nobody would know. */
    private void giveSigns() {
        try {
            roll.giveSigns();
        } catch (Throwable e) {
            log.warn("{}: the standbys here gave no sign this time", wire, e);
        }
    }

    private void whenSilent() {
        if (wire.signs().seemsDead() && !closed.get()) {
            try {
                thread.execute(() -> {
                    if (wire.signs().seemsDead() && !closed.get()) {
                        wire.signs().reconnectIfDead();
                    }
                });
            } catch (RejectedExecutionException e) {
                log.debug("{} is being closed", wire);
            }
        }
    }

    private Answer withPriority(Answer answer) {
        return new Answer(
                answer.granted(), roll.complete(answer.view(), answer.view().candidates()));
    }
}

package dev.bellwether.nats;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Seats in a bucket. Thread-safe; what waits does so on a thread of its own. */
final class NatsLeaseStore implements LeaseStore {
    private static final Logger log = LoggerFactory.getLogger(NatsLeaseStore.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final long SIGNS_SECONDS = 30;
    private static final long CLOSE_SECONDS = 2;

    private final Wire wire;
    private final NatsConfig config;
    private final Bucket bucket;
    private final Sightings sightings = new Sightings();
    private final Seats seats;
    private final Roll roll;
    private final Watches watches;
    private final ScheduledThreadPoolExecutor thread;
    private final Map<String, String> electionsByKey = new ConcurrentHashMap<>(); // of those that are watched
    private final Map<Long, CompletableFuture<?>> leaving = new ConcurrentHashMap<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    private NatsLeaseStore(Wire wire, NatsConfig config, Bucket bucket, String created) {
        this.wire = wire;
        this.config = config;
        this.bucket = bucket;
        seats = new Seats(wire, new Format(config.choria(), bucket.ttl()), sightings, bucket, config.choria(), created);
        roll = new Roll(wire, config.presence(), bucket.messageTtl() && wire.serverIsAtLeast("2.11.0"));
        var name = "bellwether-nats-" + SERIAL.incrementAndGet();
        thread = new ScheduledThreadPoolExecutor(1, task -> {
            var made = new Thread(task, name);
            made.setDaemon(true);
            return made;
        });
        thread.setRemoveOnCancelPolicy(true);
        watches = new Watches(wire, thread, this::heard);
        wire.onSilence(this::whenSilent);
        if (!config.choria()) {
            var unused = thread.scheduleWithFixedDelay(roll::giveSigns, SIGNS_SECONDS, SIGNS_SECONDS, TimeUnit.SECONDS);
        }
    }

    /**
     * Finds or makes the bucket.
     *
     * @throws ElectionException if something is wrong that a person must mend
     * @throws UnavailableException if JetStream does not answer
     */
    static NatsLeaseStore open(Wire wire, NatsConfig config) {
        var bucket = Bucket.open(wire, config);
        return new NatsLeaseStore(wire, config, bucket, bucket.created());
    }

    @Override
    public String describe() {
        return wire.toString();
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
                    "lease " + lease + " is longer than three quarters of the TTL " + ttl + " of " + wire
                            + ": a leader of Choria's would lead before it is over, if ours was evicted and did not hear of it");
        }
        if (!ttl.isZero() && lease.compareTo(ttl) >= 0) {
            throw new ElectionException("lease " + lease + " is not shorter than the TTL " + ttl + " of " + wire
                    + ": the server would drop the key under a leader; shorten the lease, or use a bucket with a longer TTL,"
                    + " or with none");
        }
        if (bucket.replicas() > 1 && lease.compareTo(Bucket.FAIL_OVER) <= 0) {
            log.info(
                    "{}: a lease of {} does not ride through the 4 to 9 seconds that a replicated bucket is without a"
                            + " leader after its server died",
                    wire,
                    lease);
        }
    }

    @Override
    public List<String> warnings() {
        return Bucket.warnings(wire, config);
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
        return seats.look(election, PATIENCE).thenCompose(sighting -> {
            if (config.choria()) {
                return CompletableFuture.completedFuture(view(sighting, List.of(), Optional.empty()));
            }
            return roll.list(election, sighting)
                    .handle((listed, error) -> listed == null
                            ? view(sighting, List.of(), Optional.empty())
                            : view(
                                    sighting,
                                    listed.candidates(),
                                    listed.overview().now()));
        });
    }

    /** For display, a leader is gone whose lease should have run out by the clock of the server that wrote it down. */
    private View view(Sighting sighting, List<Candidate> listed, Optional<Instant> serverNow) {
        var now = System.nanoTime();
        var plain = sighting.view(now, 0, roll.topPriority(sighting.election()), listed);
        if (plain.holder().isEmpty()) {
            return plain;
        }
        var gone = serverNow
                .filter(time -> !sighting.written().equals(Instant.EPOCH))
                .filter(time -> sighting.written().plus(sighting.seat().lease()).isBefore(time))
                .isPresent();
        var seat = sighting.seat();
        var all = new ArrayList<Candidate>();
        listed.forEach(one -> all.add(new Candidate(one.id(), one.priority(), one.metadata(), one.leads() && !gone)));
        if (!gone && listed.stream().noneMatch(Candidate::leads)) {
            all.add(new Candidate(seat.candidate(), seat.priority(), seat.metadata(), true));
        }
        return new View(
                plain.election(),
                plain.token(),
                gone ? Optional.empty() : plain.holder(),
                gone ? Duration.ZERO : plain.remaining(),
                plain.standDown() && !gone,
                plain.ended(),
                plain.era(),
                plain.topPriority(),
                List.copyOf(all));
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        var key = seats.key(election);
        Consumer<Sighting> told =
                sighting -> watcher.accept(sighting.view(System.nanoTime(), 0, roll.topPriority(election), List.of()));
        electionsByKey.put(key, election);
        sightings.watch(election, told);
        watches.add(key);
        var ended = new AtomicBoolean();
        return () -> {
            if (ended.compareAndSet(false, true)) {
                if (sightings.unwatch(election, told)) {
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
        return wire.overview(config.choria() ? ">" : "*", PATIENCE).thenCompose(overview -> {
            var listed = overview.keys().keySet().stream()
                    .flatMap(key -> (config.choria() ? Optional.of(key) : Keys.election(key)).stream())
                    .map(election -> seats.look(election, PATIENCE)
                            .thenApply(sighting ->
                                    sighting.seat().listed() ? Optional.of(election) : Optional.<String>empty()))
                    .toList();
            return CompletableFuture.allOf(listed.toArray(CompletableFuture[]::new))
                    .thenApply(done -> listed.stream()
                            .map(CompletableFuture::join)
                            .flatMap(Optional::stream)
                            .sorted()
                            .toList());
        });
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try {
            CompletableFuture.allOf(leaving.values().toArray(CompletableFuture[]::new))
                    .get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (java.util.concurrent.ExecutionException | java.util.concurrent.TimeoutException e) {
            log.debug("{}: not all have left: {}", wire, e.getMessage()); // what they left behind runs out
        }
        try {
            thread.execute(watches::close);
            thread.shutdown();
            if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                thread.shutdownNow();
            }
        } catch (InterruptedException e) {
            thread.shutdownNow();
            Thread.currentThread().interrupt();
        }
        wire.close();
    }

    private void heard(Found found) {
        var election = electionsByKey.get(found.key());
        if (election != null) {
            seats.note(election, Optional.of(found));
        }
    }

    private void whenSilent() {
        if (wire.seemsDead() && !closed.get()) {
            try {
                thread.execute(() -> {
                    if (wire.seemsDead() && !closed.get()) {
                        wire.reconnectIfDead();
                    }
                });
            } catch (RejectedExecutionException e) {
                log.debug("{} is being closed", wire);
            }
        }
    }

    private Answer withPriority(Answer answer) {
        var view = answer.view();
        return new Answer(
                answer.granted(),
                new View(
                        view.election(),
                        view.token(),
                        view.holder(),
                        view.remaining(),
                        view.standDown(),
                        view.ended(),
                        view.era(),
                        roll.topPriority(view.election()),
                        view.candidates()));
    }
}

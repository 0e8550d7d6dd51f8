package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The seats of a bucket: has {@link SeatRequest}s carried out by the server, and tells those who watch. What the rules are stands there. Thread-safe; nothing
 * here waits, and nobody is called under a lock.
 *
 * <p>What is known of a seat is kept while it is of interest here, that is, watched, held or asked for in the last while.
 */
final class Seats {
    private static final Logger log = LoggerFactory.getLogger(Seats.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(3);
    private static final int MANY = 10_000;

    private final Wire wire;
    private final Format format;
    private final boolean choria;
    private final SeatTraits traits;
    private final String created;
    private final SecureRandom random = new SecureRandom();
    private final Map<String, Known> all = new HashMap<>(); // guarded by itself
    private int bound = MANY; // guarded by all
    /** The last claim of each candidacy that has no definite answer. */
    private final Map<String, CompletableFuture<?>> doubtful = new ConcurrentHashMap<>();

    /** What is known of a seat, and who is to be told of changes. */
    private static final class Known {
        private final SeatMemory memory; // guarded by itself
        private final List<Consumer<View>> watchers = new CopyOnWriteArrayList<>();

        private Known(SeatMemory memory) {
            this.memory = memory;
        }
    }

    Seats(Wire wire, NatsConfig config, Bucket bucket, boolean writeOnly) {
        this.wire = wire;
        choria = config.choria();
        traits = choria ? SeatTraits.ofChoria(bucket.ttl(), writeOnly) : SeatTraits.of(bucket.ttl());
        created = bucket.created();
        format = new Format(choria, bucket.ttl());
    }

    String key(String election) {
        return choria ? election : Keys.of(election);
    }

    /** Returns whether we may write, but not read. */
    boolean isWriteOnly() {
        return traits.writeOnly();
    }

    /** Returns what a write-only one cannot do, and why. */
    String cannotRead() {
        return wire + " may not read who leads: grant the right to publish to " + wire.rightToRead();
    }

    // ---------------------------------------------------------------- asked for

    CompletableFuture<Answer> acquire(Claim claim, boolean lookFirst) {
        var candidacy = SeatMemory.candidacy(claim.nonce());
        var answer = run(
                claim.election(), patience(claim), memory -> new ClaimRequest(memory, this::stamp, claim, lookFirst));
        doubtful.put(candidacy, answer);
        var unused = answer.thenRun(() -> doubtful.remove(candidacy, answer));
        return answer;
    }

    CompletableFuture<Answer> renew(Lease lease) {
        return run(
                lease.claim().election(),
                patience(lease.claim()),
                memory -> new RenewRequest(memory, this::stamp, lease));
    }

    /** Vacates, once a claim of the same candidacy that is under way has been answered: else it would come after. */
    CompletableFuture<Answer> release(Claim claim) {
        var underWay = doubtful.remove(SeatMemory.candidacy(claim.nonce()));
        CompletableFuture<?> answered =
                underWay == null ? CompletableFuture.completedFuture(true) : underWay.handle((done, error) -> true);
        return answered.thenCompose(done -> run(
                claim.election(),
                patience(claim),
                memory -> new ReleaseRequest(memory, this::stamp, claim, underWay != null)));
    }

    CompletableFuture<Boolean> order(String election, Order order) {
        if (isWriteOnly()) {
            return CompletableFuture.failedFuture(new ElectionException(cannotRead()));
        }
        if (choria && order != Order.STAND_DOWN) {
            return CompletableFuture.failedFuture(new ElectionException(
                    "Choria's elections neither end nor are they forgotten: \"" + election + "\" on " + wire));
        }
        return run(election, PATIENCE, memory -> new OrderRequest(memory, this::stamp, order));
    }

    /** Reads the seat for somebody who only wants to know. */
    CompletableFuture<ObservedRecord> read(String election) {
        return isWriteOnly() && observed(election).isEmpty()
                ? CompletableFuture.failedFuture(new UnavailableException("\"" + election + "\": " + cannotRead()))
                : run(election, PATIENCE, LookRequest::new);
    }

    /** Returns what core is to know of a record. */
    View view(String election, ObservedRecord observed) {
        var memory = known(election).memory;
        synchronized (memory) {
            return memory.view(observed, System.nanoTime(), 0);
        }
    }

    private Optional<ObservedRecord> observed(String election) {
        var memory = known(election).memory;
        synchronized (memory) {
            return memory.observed();
        }
    }

    // ---------------------------------------------------------------- watched

    void watch(String election, Consumer<View> watcher) {
        synchronized (all) {
            known(election).watchers.add(watcher);
        }
    }

    /** Returns whether nobody is left who watches it. */
    boolean unwatch(String election, Consumer<View> watcher) {
        synchronized (all) {
            var known = known(election);
            return known.watchers.remove(watcher) && known.watchers.isEmpty();
        }
    }

    /** Takes note of what was heard. */
    void heard(String election, Found found) {
        var stored = format.stored(found);
        note(known(election), memory -> {
            memory.hear(stored, System.nanoTime());
            return true;
        });
    }

    /** Has something noted, and tells of it who watches. */
    private <T> T note(Known known, Function<SeatMemory, T> noting) {
        T noted;
        Optional<ObservedRecord> before;
        Optional<ObservedRecord> after;
        View view = null;
        synchronized (known.memory) {
            before = known.memory.observed();
            noted = noting.apply(known.memory);
            after = known.memory.observed();
            if (after.isPresent() && (before.isEmpty() || after.get().isNewsAfter(before.get()))) {
                view = known.memory.view(after.get(), System.nanoTime(), 0);
            }
        }
        if (view != null) {
            for (var watcher : known.watchers) {
                watcher.accept(view);
            }
        }
        return noted;
    }

    private Known known(String election) {
        synchronized (all) {
            var present = all.get(election);
            if (present != null) {
                return present;
            }
            if (all.size() >= bound) {
                all.values().removeIf(Seats::isIdle);
                bound = Math.max(MANY, 2 * all.size()); // all may be of interest: do not look through them each time
            }
            var made = new Known(new SeatMemory(election, traits, SeatRules.TRUE));
            all.put(election, made);
            return made;
        }
    }

    private static boolean isIdle(Known known) {
        synchronized (known.memory) {
            return known.watchers.isEmpty() && !known.memory.isInUse();
        }
    }

    // ---------------------------------------------------------------- carried out

    private <T> CompletableFuture<T> run(
            String election, Duration timeout, Function<SeatMemory, SeatRequest<T>> making) {
        var known = known(election);
        var request = making.apply(known.memory);
        var running = new Running<>(known, request, timeout);
        running.advance(() -> {
            known.memory.over(wire.session());
            return request.begin(System.nanoTime());
        });
        return running.answer;
    }

    /** What happens next in a request. */
    private interface Event<T> {
        SeatStep<T> step();
    }

    /** A request under way. Each step begins when the one before has been answered. */
    private final class Running<T> {
        private final Known known;
        private final SeatRequest<T> request;
        private final Duration timeout;
        private final CompletableFuture<T> answer = new CompletableFuture<>();

        private Running(Known known, SeatRequest<T> request, Duration timeout) {
            this.known = known;
            this.request = request;
            this.timeout = timeout;
        }

        private void advance(Event<T> event) {
            try {
                var step = note(known, memory -> event.step());
                switch (step.kind()) {
                    case READ -> read(step.confirming());
                    case WRITE -> write(step);
                    case DONE -> answer.complete(step.value());
                    case FAILED -> answer.completeExceptionally(step.error());
                }
            } catch (Throwable e) { // whoever waits must be told
                log.debug("{}: a request failed", wire, e);
                answer.completeExceptionally(e);
            }
        }

        private void read(boolean confirming) {
            var key = key(known.memory.election());
            var given = confirming ? given(key) : CompletableFuture.completedFuture(0L);
            var unused = given.thenCompose(floor -> wire.read(key, timeout).thenApply(found -> stored(found, floor)))
                    .whenComplete((found, error) -> advance(() -> found == null
                            ? request.unanswered(Errors.cause(error), System.nanoTime())
                            : request.read(found.stored, found.given, System.nanoTime())));
        }

        private void write(SeatStep<T> step) {
            var next = step.next();
            var unused = wire.write(
                            key(known.memory.election()),
                            format.headers(next),
                            format.body(next),
                            step.expected(),
                            timeout)
                    .whenComplete((revision, error) -> advance(() -> {
                        if (revision != null) {
                            return request.written(revision, System.nanoTime());
                        }
                        var cause = Errors.cause(error);
                        return cause instanceof Wire.Outdated outdated
                                ? request.outdated(outdated.revision(), System.nanoTime())
                                : request.unanswered(cause, System.nanoTime());
                    }));
        }

        /** A revision fell. Returns how far revisions are now, unless the bucket is another. */
        private CompletableFuture<Long> given(String key) {
            return wire.overview(key, timeout).thenApply(overview -> {
                if (!overview.created().equals(created)) {
                    throw new ElectionException(wire
                            + " is not the bucket that it was: it was deleted and made again, and"
                            + " \"" + known.memory.election() + "\" is at an older revision there than was seen before."
                            + " Tokens would fall. Close all candidacies, and use a bucket of another name");
                }
                return overview.lastSequence();
            });
        }
    }

    private record Read(StoredRecord stored, long given) {}

    private Read stored(Optional<Found> found, long given) {
        return new Read(found.map(format::stored).orElse(new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT)), given);
    }

    // ---------------------------------------------------------------- small things

    /** Copies of this process have the same state of the generator, but not the same instant. */
    private String stamp() {
        return Long.toUnsignedString(random.nextLong(), 36) + '.' + Long.toUnsignedString(System.nanoTime(), 36);
    }

    private static Duration patience(Claim claim) {
        var third = claim.lease().dividedBy(3);
        return third.compareTo(LONGEST_WAIT) < 0 ? third : LONGEST_WAIT;
    }
}

package dev.bellwether.internal.record;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The seats in a {@link RecordStore}: has the store carry out {@link SeatRequest}s, which have the rules, and tells
 * those who watch. Thread-safe. Never blocks, and calls nobody under a lock.
 *
 * <p>What is known of a seat is kept while it is of interest here, that is, watched, held or asked for in the last
 * while.
 */
final class Seats {
    private static final Logger log = LoggerFactory.getLogger(Seats.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(3);
    private static final int MANY = 10_000;

    private final RecordStore store;
    private final RecordTraits traits;
    private final SeatText format;
    private final Clock clock;
    private final Supplier<String> stamps;
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

    /**
     * Makes the seats of a store.
     *
     * @param stamps gives a text that nobody else is given, not even a copy of this process
     */
    Seats(RecordStore store, Clock clock, Supplier<String> stamps) {
        this.store = store;
        this.clock = clock;
        this.stamps = stamps;
        traits = store.traits();
        format = new SeatText(traits);
    }

    // ---------------------------------------------------------------- asked for

    CompletableFuture<Answer> acquire(Claim claim, boolean lookFirst) {
        var candidacy = SeatMemory.candidacy(claim.nonce());
        var answer =
                run(claim.election(), patience(claim), memory -> new ClaimRequest(memory, stamps, claim, lookFirst));
        doubtful.put(candidacy, answer);
        var unused = answer.thenRun(() -> doubtful.remove(candidacy, answer));
        return answer;
    }

    CompletableFuture<Answer> renew(Lease lease) {
        return run(
                lease.claim().election(), patience(lease.claim()), memory -> new RenewRequest(memory, stamps, lease));
    }

    /** Vacates, once a claim of the same candidacy that is under way has been answered: else it would come after. */
    CompletableFuture<Answer> release(Claim claim) {
        var underWay = doubtful.remove(SeatMemory.candidacy(claim.nonce()));
        CompletableFuture<?> answered =
                underWay == null ? CompletableFuture.completedFuture(true) : underWay.handle((done, error) -> true);
        return answered.thenCompose(done -> run(
                claim.election(),
                patience(claim),
                memory -> new ReleaseRequest(memory, stamps, claim, underWay != null)));
    }

    CompletableFuture<Boolean> order(String election, Order order) {
        if (traits.writeOnly()) {
            return CompletableFuture.failedFuture(new ElectionException(traits.unreadable()));
        }
        if (!traits.endless().isEmpty() && order != Order.STAND_DOWN) {
            return CompletableFuture.failedFuture(
                    new ElectionException(traits.endless() + ": \"" + election + "\" on " + store.describe()));
        }
        return run(election, PATIENCE, memory -> new OrderRequest(memory, stamps, order));
    }

    /** Reads the seat for somebody who only wants to know. */
    CompletableFuture<ObservedRecord> read(String election) {
        return traits.writeOnly() && observed(election).isEmpty()
                ? CompletableFuture.failedFuture(
                        new UnavailableException("\"" + election + "\": " + traits.unreadable()))
                : run(election, PATIENCE, LookRequest::new);
    }

    /** Returns what core is to know of a record. */
    View view(String election, ObservedRecord observed) {
        var memory = known(election).memory;
        synchronized (memory) {
            return memory.view(observed, clock.nanos(), 0);
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
    void heard(String election, RecordStore.Found found) {
        var stored = format.stored(found);
        note(known(election), memory -> {
            memory.hear(stored, clock.nanos());
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
                view = known.memory.view(after.get(), clock.nanos(), 0);
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
            known.memory.over(store.session());
            return request.begin(clock.nanos());
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
                log.debug("{}: a request failed", store.describe(), e);
                answer.completeExceptionally(e);
            }
        }

        private void read(boolean confirming) {
            var key = RecordKey.seat(known.memory.election());
            var unused = CompletableFuture.completedFuture(key)
                    .thenCompose(seat -> confirming
                            ? store.reached(seat, timeout)
                            : CompletableFuture.completedStage(0L)) // a revision fell: how far are they now?
                    .thenCompose(
                            given -> store.read(key, timeout).thenApply(found -> new Read(format.stored(found), given)))
                    .whenComplete((found, error) -> advance(() -> found == null
                            ? request.unanswered(cause(error), clock.nanos())
                            : request.read(found.stored, found.given, clock.nanos())));
        }

        private void write(SeatStep<T> step) {
            var key = RecordKey.seat(known.memory.election());
            var unused = CompletableFuture.completedFuture(key)
                    .thenCompose(seat -> store.write(seat, step.expected(), SeatText.draft(step.next()), timeout))
                    .whenComplete((written, error) -> advance(() -> {
                        var now = clock.nanos();
                        if (written == null) {
                            return request.unanswered(cause(error), now);
                        }
                        return written.done()
                                ? request.written(written.revision(), now)
                                : request.outdated(written.revision(), now);
                    }));
        }
    }

    private record Read(StoredRecord stored, long given) {}

    // ---------------------------------------------------------------- small things

    /** Returns the error that a stage failed with; that there was no answer, if it is none that says more. */
    static RuntimeException cause(@Nullable Throwable error) {
        var cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        return cause instanceof RuntimeException plain ? plain : new UnavailableException("no answer: " + cause, cause);
    }

    private static Duration patience(Claim claim) {
        var third = claim.lease().dividedBy(3);
        return third.compareTo(LONGEST_WAIT) < 0 ? third : LONGEST_WAIT;
    }
}

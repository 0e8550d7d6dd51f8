package dev.bellwether.internal.record;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The seats in a {@link RecordStore}, and the sessions that they name: has the store carry out {@link SeatRequest}s,
 * which have the rules, and tells those who watch. Thread-safe. Never blocks, and calls nobody under a lock.
 *
 * <p>What is known of a seat is kept while it is of interest here, that is, watched, held or asked for in the last
 * while.
 */
final class Seats {
    private static final Logger log = LoggerFactory.getLogger(Seats.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(3);
    private static final int MANY = 10_000;
    /**
     * For so long it is kept that a session is over, if its lease is not known; and for so long, or the longest lease,
     * a seat that may be held here, if nobody asks for it any more.
     */
    private static final Duration LONGEST_KEPT = Duration.ofHours(1);

    private final RecordStore store;
    private final RecordTraits traits;
    private final SeatText format;
    private final Clock clock;
    private final Supplier<String> stamps;
    private final Map<RecordKey, Known> all = new HashMap<>(); // guarded by itself
    private int bound = MANY; // guarded by all
    /** The claims of each candidacy that have no definite answer, as long as that matters. */
    private final Map<String, List<Doubtful>> doubtful = new ConcurrentHashMap<>();

    /** A claim that has no definite answer. It is waited for so long, and no longer: it may be many requests. */
    private record Doubtful(Running<?> claim, long untilNanos) {
        boolean isUnderWay(long nowNanos) {
            return !claim.answer.isDone() && nowNanos - untilNanos < 0;
        }
    }

    /** The looks at a session that are under way: many seats may ask for one at a time. */
    private final Map<Look, Looking> looks = new ConcurrentHashMap<>();

    /** The sessions of this process. */
    private final Set<String> own = ConcurrentHashMap.newKeySet();
    /** The sessions that are over, and when all who have waited for that know it. */
    private final Map<String, Long> over = new ConcurrentHashMap<>();

    private record Look(String session, boolean ending) {}

    private record Looking(CompletableFuture<ObservedRecord> found, long begunNanos) {}

    /** What is known of a seat or a session, and who is to be told of changes. */
    private static final class Known {
        private final RecordKey key;
        private final SeatMemory memory; // guarded by itself
        private final List<Consumer<View>> watchers = new CopyOnWriteArrayList<>();
        /** Of a session: the seats that are watched here and name it. */
        private final Map<RecordKey, Known> followers = new ConcurrentHashMap<>();
        /** Who is at work with it, and would not find it again. */
        private final AtomicInteger users = new AtomicInteger();

        private volatile boolean held; // by somebody here, maybe; written under the lock of the memory
        private volatile long heldUntilNanos; // at most, unless asked for again
        private Watch watch = Watch.NONE; // of a session; guarded by followers
        private String followed = ""; // by a seat, which session; guarded by watchers

        private Known(RecordKey key, SeatMemory memory) {
            this.key = key;
            this.memory = memory;
        }

        /** Takes no lock of the memory: who looks through all has that of {@link #all}, for which others wait here. */
        private boolean isIdle(long nowNanos) {
            return users.get() == 0
                    && !(held && nowNanos - heldUntilNanos < 0)
                    && watchers.isEmpty()
                    && followers.isEmpty();
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
        var running = begin(
                RecordKey.seat(claim.election()),
                patience(claim.lease()),
                memory -> new ClaimRequest(memory, stamps, claim, lookFirst));
        var one = new Doubtful(running, clock.nanos() + patience(claim.lease()).toNanos());
        doubtful.merge(
                candidacy,
                List.of(one),
                (before, added) -> Stream.concat(
                                before.stream().filter(each -> !each.claim.answer.isDone()), added.stream())
                        .toList());
        var unused = running.answer.thenRun(() -> settled(candidacy, List.of(one)));
        return running.answer;
    }

    /** Extends a lease that is to share no other. */
    CompletableFuture<Answer> renew(Lease lease) {
        return renew(lease, "", () -> false);
    }

    /** Extends a lease that shares this session, or is to: see {@link RenewRequest}. */
    CompletableFuture<Answer> renew(Lease lease, String session, BooleanSupplier mayJoin) {
        return run(
                lease.claim().election(),
                patience(lease.claim().lease()),
                memory -> new RenewRequest(memory, stamps, lease, session, mayJoin));
    }

    /** Makes a session of ours, or prolongs it. */
    CompletableFuture<SustainRequest.Sustained> sustain(String session, Duration lease, boolean made, long left) {
        own.add(session);
        return run(
                RecordKey.session(session),
                patience(lease),
                memory -> new SustainRequest(memory, stamps, lease, made, left));
    }

    /** A session of ours is over. */
    void forgetOwn(String session, Duration lease) {
        own.remove(session);
        over.putIfAbsent(session, clock.nanos() + 2 * lease.toNanos());
    }

    /** Forgets the sessions that are over, and returns those of which nobody can want to know that still. */
    List<RecordKey> forgetSessions() {
        var now = clock.nanos();
        var past = over.entrySet().stream()
                .filter(session -> now - session.getValue() >= 0)
                .map(Map.Entry::getKey)
                .toList();
        past.forEach(session -> {
            over.remove(session);
            forgetWrites(session);
        });
        return past.stream().map(RecordKey::session).toList();
    }

    /** What was written of a session of ours that is over has long been answered. */
    private void forgetWrites(String session) {
        var key = RecordKey.session(session);
        Known known;
        synchronized (all) {
            known = all.get(key);
        }
        if (known == null || !known.held) {
            return;
        }
        synchronized (known.memory) {
            known.memory.forget(session);
            known.held = known.memory.isInUse();
        }
        synchronized (all) {
            if (known.isIdle(clock.nanos())) {
                all.remove(key);
            }
        }
    }

    /** What is known of a seat may be old: its holder, who does not write it, is to read it before it relies on it. */
    void hint(String election) {
        var memory = known(election).memory;
        synchronized (memory) {
            memory.hint();
        }
    }

    /**
     * Vacates, once all claims of the same candidacy that are under way have been answered: else they would come after.
     * So does each further try. Those that take too long are withdrawn: what they have sent may still be carried out,
     * which the memory knows, and they send nothing more.
     */
    CompletableFuture<Answer> release(Claim claim) {
        return release(claim, false);
    }

    /** Vacates. To look first is for anybody who may not know what was written last. */
    CompletableFuture<Answer> release(Claim claim, boolean lookFirst) {
        var candidacy = SeatMemory.candidacy(claim.nonce());
        var all = doubtful.get(candidacy);
        if (all == null) {
            return vacate(claim, lookFirst);
        }
        var now = clock.nanos();
        var underWay = all.stream().filter(each -> each.isUnderWay(now)).toList();
        return CompletableFuture.allOf(
                        underWay.stream().map(each -> each.claim.answer).toArray(CompletableFuture[]::new))
                .handle((done, error) -> true)
                .thenCompose(done -> {
                    all.stream().filter(each -> !underWay.contains(each)).forEach(each -> each.claim.withdraw());
                    return vacate(claim, true);
                })
                .whenComplete((answer, error) -> settled(candidacy, all));
    }

    private void settled(String candidacy, List<Doubtful> some) {
        doubtful.computeIfPresent(candidacy, (same, all) -> {
            var rest = all.stream().filter(each -> !some.contains(each)).toList();
            return rest.isEmpty() ? null : rest;
        });
    }

    private CompletableFuture<Answer> vacate(Claim claim, boolean lookFirst) {
        return run(
                claim.election(),
                patience(claim.lease()),
                memory -> new ReleaseRequest(memory, stamps, claim, lookFirst));
    }

    CompletableFuture<Boolean> order(String election, Order order) {
        if (traits.writeOnly()) {
            return CompletableFuture.failedFuture(new ElectionException(traits.unreadable()));
        }
        if (!traits.endless().isEmpty() && order != Order.STAND_DOWN) {
            return CompletableFuture.failedFuture(
                    new ElectionException(traits.endless() + ": \"" + election + "\" on " + store.describe()));
        }
        return run(election, PATIENCE, memory -> new OrderRequest(memory, stamps, order))
                .thenCompose(done -> done ? nudge(election) : CompletableFuture.completedFuture(false));
    }

    /** Replaces the note over a seat: see {@link dev.bellwether.spi.LeaseStore#note}. */
    CompletableFuture<Boolean> note(String election, long token, String expected, String note) {
        return run(election, PATIENCE, memory -> new NoteRequest(memory, stamps, token, expected, note))
                .thenCompose(done -> done ? nudge(election) : CompletableFuture.completedFuture(false));
    }

    /**
     * Anybody who shares a session does not write its seat, and may not hear of what is written there: tells it there,
     * too.
     */
    private CompletableFuture<Boolean> nudge(String election) {
        var session = observed(election)
                .map(ObservedRecord::record)
                .filter(SeatRecord::isShared)
                .map(SeatRecord::session);
        return session.isEmpty()
                ? CompletableFuture.completedFuture(true)
                : run(RecordKey.session(session.get()), PATIENCE, memory -> new NudgeRequest(memory, stamps, election));
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

    /**
     * Returns until when anybody who holds the seat should be there, by the clock of the server that dated its record,
     * or that of its session; empty if that is unknown.
     */
    Optional<Instant> until(ObservedRecord seat) {
        var session = seat.record().isShared()
                ? observed(RecordKey.session(seat.record().session()))
                : Optional.<ObservedRecord>empty();
        var sign = session.filter(one -> one.record().isHeld()).orElse(seat);
        var known = session.isPresent() ? clock.nanos() - sign.seenNanos() : 0; // the seat was read at the moment
        return sign.stored().written().equals(Instant.EPOCH)
                ? Optional.empty()
                : Optional.of(
                        sign.stored().written().plus(sign.record().lease()).plusNanos(known));
    }

    /** Returns whether somebody holds the seat, as far as is known. */
    boolean isHeld(String election, ObservedRecord observed) {
        var memory = known(election).memory;
        synchronized (memory) {
            return memory.isHeld(observed, clock.nanos());
        }
    }

    private Optional<SeatMemory.SeenSession> seen(String session) {
        var memory = known(RecordKey.session(session)).memory;
        synchronized (memory) {
            return memory.seen();
        }
    }

    private Optional<ObservedRecord> observed(String election) {
        return observed(RecordKey.seat(election));
    }

    private Optional<ObservedRecord> observed(RecordKey key) {
        var memory = known(key).memory;
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
        boolean last;
        Known known;
        synchronized (all) {
            known = known(election);
            last = known.watchers.remove(watcher) && known.watchers.isEmpty();
        }
        if (last) {
            follow(known, "");
        }
        return last;
    }

    /** Takes note of what was heard. */
    void heard(RecordKey key, RecordStore.Found found) {
        var stored = format.stored(found);
        if (key.isSession() && !stored.record().isReadable()) {
            return; // that it is gone counts from when that was read
        }
        note(known(key), memory -> {
            memory.hear(stored, clock.nanos());
            return true;
        });
    }

    /** Has something noted, and tells of it who watches. */
    private <T> T note(Known known, Function<SeatMemory, T> noting) {
        T noted;
        Optional<ObservedRecord> before;
        Optional<ObservedRecord> after;
        synchronized (known.memory) {
            before = known.memory.observed();
            noted = noting.apply(known.memory);
            after = known.memory.observed();
            known.heldUntilNanos =
                    clock.nanos() + known.memory.watchedFor(LONGEST_KEPT).toNanos();
            known.held = known.memory.isInUse();
        }
        if (after.isPresent()) {
            if (known.key.isSession()) {
                noteSession(known, before, after.get());
            } else {
                noteSeat(known, before, after.get());
            }
        }
        return noted;
    }

    private void noteSeat(Known seat, Optional<ObservedRecord> before, ObservedRecord after) {
        var session = after.record().isShared() ? after.record().session() : "";
        follow(seat, own.contains(session) ? "" : session);
        if (before.isEmpty() || after.isNewsAfter(before.get())) {
            tell(seat);
        }
    }

    /** That a session is over is news to anybody who watches its seats; that it was prolonged is none. */
    private void noteSession(Known session, Optional<ObservedRecord> before, ObservedRecord after) {
        var kind = after.record().kind();
        if (before.isPresent() && before.get().record().kind() != kind) {
            session.followers.values().forEach(this::tell);
        }
        if (kind == SeatRecord.Kind.VACANT && over.size() < MANY) {
            var lease = before.map(ObservedRecord::record)
                    .filter(SeatRecord::isHeld)
                    .map(SeatRecord::lease)
                    .orElse(LONGEST_KEPT);
            // what is noted second may be told here first, and does not know the lease any more
            over.merge(
                    session.memory.election(),
                    after.seenNanos() + 2 * lease.toNanos(),
                    (one, two) -> one - two < 0 ? one : two);
        }
    }

    private void tell(Known seat) {
        View view;
        synchronized (seat.memory) {
            var observed = seat.memory.observed();
            if (observed.isEmpty()) {
                return;
            }
            view = seat.memory.view(observed.get(), clock.nanos(), 0);
        }
        for (var watcher : seat.watchers) {
            watcher.accept(view);
        }
    }

    /**
     * Sees to it that anybody who watches this seat hears of this session, and of no other; of none, if it is empty.
     */
    private void follow(Known seat, String named) {
        synchronized (seat.watchers) {
            // asked in here: one who ends the last watch comes in here after that
            var session = seat.watchers.isEmpty() ? "" : named;
            if (seat.followed.equals(session)) {
                return;
            }
            if (!seat.followed.isEmpty()) {
                unfollow(known(RecordKey.session(seat.followed)), seat);
            }
            seat.followed = "";
            if (!session.isEmpty()) {
                var followed = use(RecordKey.session(session));
                try {
                    follow(followed, seat);
                    seat.followed = session;
                } catch (RuntimeException | Error e) { // a standby finds out by asking
                    log.debug("{}: session {} cannot be watched now", store.describe(), session, e);
                } finally {
                    followed.users.decrementAndGet();
                }
            }
        }
    }

    private void follow(Known session, Known seat) {
        synchronized (session.followers) {
            if (session.watch.equals(Watch.NONE)) {
                session.watch = store.watch(session.key, found -> heard(session.key, found));
            }
            session.followers.put(seat.key, seat);
        }
    }

    private static void unfollow(Known session, Known seat) {
        synchronized (session.followers) {
            session.followers.remove(seat.key, seat);
            if (session.followers.isEmpty()) {
                session.watch.close();
                session.watch = Watch.NONE;
            }
        }
    }

    private Known known(String election) {
        return known(RecordKey.seat(election));
    }

    private Known known(RecordKey key) {
        synchronized (all) {
            var present = all.get(key);
            if (present != null) {
                return present;
            }
            if (all.size() >= bound) {
                var now = clock.nanos();
                all.values().removeIf(each -> each.isIdle(now));
                bound = Math.max(MANY, 2 * all.size()); // all may be of interest: do not look through them each time
            }
            var name = key.parts().get(key.parts().size() - 1);
            var made = new Known(key, new SeatMemory(name, traits, SeatRules.TRUE, store.scope(), this::seen));
            all.put(key, made);
            return made;
        }
    }

    /** Returns of how many seats and sessions anything is kept. */
    int known() {
        synchronized (all) {
            return all.size();
        }
    }

    /** Returns it to one who keeps it, and is to say when that has an end. */
    private Known use(RecordKey key) {
        synchronized (all) {
            var known = known(key);
            known.users.incrementAndGet();
            return known;
        }
    }

    // ---------------------------------------------------------------- carried out

    private <T> CompletableFuture<T> run(
            String election, Duration timeout, Function<SeatMemory, SeatRequest<T>> making) {
        return run(RecordKey.seat(election), timeout, making);
    }

    private <T> CompletableFuture<T> run(RecordKey key, Duration timeout, Function<SeatMemory, SeatRequest<T>> making) {
        return begin(key, timeout, making).answer;
    }

    private <T> Running<T> begin(RecordKey key, Duration timeout, Function<SeatMemory, SeatRequest<T>> making) {
        var known = use(key);
        var request = making.apply(known.memory);
        var running = new Running<>(known, request, timeout);
        var unused = running.answer.whenComplete((done, error) -> known.users.decrementAndGet());
        running.advance(() -> {
            known.memory.over(store.session());
            return request.begin(clock.nanos());
        });
        return running;
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

        private void withdraw() {
            synchronized (known.memory) {
                request.withdraw();
            }
        }

        private void advance(Event<T> event) {
            try {
                var step = note(known, memory -> event.step());
                switch (step.kind()) {
                    case READ -> read(step.confirming());
                    case WRITE -> write(step);
                    case SETTLE -> settle(step.session(), step.ending());
                    case DONE -> answer.complete(step.value());
                    case FAILED -> answer.completeExceptionally(step.error());
                }
            } catch (Throwable e) { // anybody who waits must be told
                log.debug("{}: a request failed", store.describe(), e);
                answer.completeExceptionally(e);
            }
        }

        private void read(boolean confirming) {
            var key = known.key;
            var unused = CompletableFuture.completedFuture(key)
                    .thenCompose(seat -> confirming
                            ? store.reached(seat, timeout)
                            : CompletableFuture.completedStage(0L)) // a revision fell: how far are they now?
                    .thenCompose(given -> store.read(key, request.urgency(), timeout)
                            .thenApply(found -> new Read(format.stored(found), given)))
                    .whenComplete((found, error) -> advance(() -> found == null
                            ? request.unanswered(cause(error), clock.nanos())
                            : request.read(found.stored, found.given, clock.nanos())));
        }

        private void settle(String session, boolean ending) {
            var unused = look(session, ending, timeout)
                    .whenComplete((found, error) -> advance(() -> found == null
                            ? request.unanswered(cause(error), clock.nanos())
                            : request.settled(clock.nanos())));
        }

        private void write(SeatStep<T> step) {
            var unused = CompletableFuture.completedFuture(known.key)
                    .thenCompose(seat ->
                            store.write(seat, step.expected(), SeatText.draft(step.next()), request.urgency(), timeout))
                    .whenComplete((written, error) -> advance(() -> {
                        var now = clock.nanos();
                        if (written == null) {
                            return request.unanswered(cause(error), now);
                        }
                        return written.done()
                                ? request.written(written.revision(), written.written(), now)
                                : request.outdated(written.revision(), now);
                    }));
        }
    }

    private record Read(StoredRecord stored, long given) {}

    /**
     * Looks at a session of another. Requests during that time get what it finds; no later ones do.
     */
    private CompletableFuture<ObservedRecord> look(String session, boolean ending, Duration timeout) {
        var look = new Look(session, ending);
        var now = clock.nanos();
        var mine = new Looking(new CompletableFuture<>(), now);
        var present =
                looks.merge(look, mine, (before, next) -> now - before.begunNanos > timeout.toNanos() ? next : before);
        if (present.equals(mine)) {
            var unused = run(RecordKey.session(session), timeout, memory -> new SettleRequest(memory, stamps, ending))
                    .whenComplete((found, error) -> {
                        looks.remove(look, mine);
                        if (found == null) {
                            mine.found.completeExceptionally(cause(error));
                        } else {
                            mine.found.complete(found);
                        }
                    });
        }
        return present.found;
    }

    // ---------------------------------------------------------------- small things

    /** Returns the error that a stage failed with; that there was no answer, if it is none that says more. */
    static RuntimeException cause(@Nullable Throwable error) {
        var cause = error == null ? null : Causes.unwrapped(error);
        return cause instanceof RuntimeException plain ? plain : new UnavailableException("no answer: " + cause, cause);
    }

    private static Duration patience(Duration lease) {
        var third = lease.dividedBy(3);
        return third.compareTo(LONGEST_WAIT) < 0 ? third : LONGEST_WAIT;
    }
}

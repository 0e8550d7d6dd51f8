package dev.bellwether.internal.record;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of this process: the records that keep many of its seats, one for each length of a lease. Why that is
 * safe is written in {@link SeatRules}. Thread-safe. Never blocks, and calls nobody under a lock.
 *
 * <p>A session lives as long as those who lead by it ask for their leases to be renewed, and has no timer of its own. A
 * seat for which nobody has asked for a whole lease would be kept by the others; so it is released then, as its own
 * lease would have run out.
 */
final class LeaseSessions {
    private static final Logger log = LoggerFactory.getLogger(LeaseSessions.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    /** So many seats are read at each renewal: one of so many, but one at least. */
    private static final int MOST_AUDITED = 8;
    /**
     * Of those that are all to be looked at, so many are at each renewal, or one of so many if that is more: each is
     * renewed only when it has been read, and what is read at once must be answered in time.
     */
    private static final int FEW_LOOKED_AT = 64;

    private static final int PART_LOOKED_AT = 8;

    private static final int FEWEST = 16;
    private static final long TIDIED_NANOS = 1_000_000_000L;
    /** A right that is missing may be granted again. */
    private static final long BARRED_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final RecordStore store;
    private final Seats seats;
    private final Clock clock;
    private final Supplier<String> ids;
    private final Map<Duration, Session> open = new HashMap<>(); // guarded by itself
    /** When each lease of a length was asked for last, by nonce: while no session keeps them. */
    private final Map<Duration, Map<String, Long>> apart = new HashMap<>(); // guarded by open

    private final Map<RecordKey, CompletableFuture<?>> removals = new ConcurrentHashMap<>();
    /** Sessions of ours that have ended, and are to be removed. */
    private final Set<RecordKey> ended = ConcurrentHashMap.newKeySet();

    private volatile long tidiedNanos;
    /** Until when no session is tried, after one was refused; empty if none was. */
    private volatile OptionalLong barredUntilNanos = OptionalLong.empty();

    /**
     * Makes the sessions of a process; none yet.
     *
     * @param ids gives a text that nobody else is ever given
     */
    LeaseSessions(RecordStore store, Seats seats, Clock clock, Supplier<String> ids) {
        this.store = store;
        this.seats = seats;
        this.clock = clock;
        this.ids = ids;
        tidiedNanos = clock.nanos();
    }

    /** Renews leases; those that share a session by one write. The answers come in the order of the leases. */
    List<CompletableFuture<Answer>> renew(List<Lease> leases) {
        seats.forgetSessions().forEach(this::remove);
        var together = leases.stream()
                .filter(LeaseSessions::isWhole)
                .collect(Collectors.groupingBy(
                        lease -> lease.claim().lease(),
                        Collectors.mapping(lease -> lease.claim().nonce(), Collectors.toList())));
        var renewals = new HashMap<Duration, Renewal>();
        together.forEach((length, nonces) -> {
            var session = session(length, nonces);
            if (session != null) {
                renewals.put(length, new Renewal(session, session.sustain()));
            }
        });
        return leases.stream()
                .map(lease -> {
                    var renewal = isWhole(lease) ? renewals.get(lease.claim().lease()) : null;
                    return renewal == null ? alone(lease) : renewal.session.renew(lease, renewal.lives);
                })
                .toList();
    }

    private record Renewal(Session session, CompletableFuture<Boolean> lives) {}

    /** One that is cut short is not renewed: it needs a term of its own. */
    private static boolean isWhole(Lease lease) {
        return lease.term().equals(lease.claim().lease());
    }

    private CompletableFuture<Answer> alone(Lease lease) {
        return seats.renew(lease).thenApply(answer -> {
            forget(lease.claim()); // refused or not, it shares no session now
            return answer;
        });
    }

    /** Returns whether this claim's seat shares a session, or may. */
    boolean isMember(Claim claim) {
        synchronized (open) {
            var session = open.get(claim.lease());
            return session != null && session.members.containsKey(claim.nonce());
        }
    }

    /** Removes what is over also if nobody here leads, who would by each renewal. */
    void tidy() {
        var now = clock.nanos();
        if (now - tidiedNanos >= TIDIED_NANOS) {
            tidiedNanos = now;
            seats.forgetSessions().forEach(this::remove);
        }
    }

    /** A seat is this claim's no more, for certain. */
    void forget(Claim claim) {
        Session session;
        synchronized (open) {
            session = open.get(claim.lease());
        }
        if (session != null) {
            session.leave(claim.nonce());
        }
    }

    /** Removes what has ended, at the end: who finds none waits for a lease. Returns when all that is removed is. */
    CompletableFuture<?> removed() {
        ended.forEach(this::remove);
        return CompletableFuture.allOf(removals.values().toArray(CompletableFuture[]::new));
    }

    /** Returns the session for leases of this length, of which these are due; null if each is renewed alone. */
    private @Nullable Session session(Duration length, List<String> due) {
        synchronized (open) {
            var present = open.get(length);
            if (present != null && !present.over && !present.members.isEmpty()) {
                return present;
            }
            if (isBarred() || !store.traits().sharesAmong(apart(length, due))) {
                return null;
            }
            apart.remove(length);
            if (present == null || present.over) {
                present = new Session(ids.get(), length);
                open.put(length, present);
            }
            return present;
        }
    }

    private boolean isBarred() {
        var until = barredUntilNanos;
        return until.isPresent() && clock.nanos() - until.getAsLong() < 0;
    }

    /** Returns how many were asked for within a lease, these included: not all are due at once. */
    private int apart(Duration length, List<String> due) {
        var now = clock.nanos();
        var asked = apart.computeIfAbsent(length, none -> new HashMap<>());
        asked.values().removeIf(nanos -> now - nanos >= length.toNanos());
        due.forEach(nonce -> asked.put(nonce, now));
        return asked.size();
    }

    private void remove(RecordKey session) {
        remove(session, CompletableFuture.completedFuture(true));
    }

    /**
     * Removes a session that is over, when the writes that are under way are answered: they would make it again. If
     * that fails, it stays, and disturbs nobody.
     */
    private void remove(RecordKey session, CompletableFuture<?> written) {
        ended.remove(session);
        var removal = written.thenCompose(done -> store.remove(session, TIMEOUT))
                .handle((done, error) -> {
                    if (error != null) {
                        log.debug("{} stays: {}", session, error.getMessage());
                    }
                    return error == null;
                });
        removals.put(session, removal);
        var unused = removal.thenRun(() -> removals.remove(session));
    }

    /** A seat that names a session, or may. */
    private record Member(Claim claim, long askedNanos, long serial) {}

    private record Write(long nanos, long number) {}

    private record Ask(long nanos, CompletableFuture<Boolean> lives) {}

    private final class Session {
        private final String id;
        private final Duration lease;
        /** By nonce. */
        private final Map<String, Member> members = new ConcurrentHashMap<>();

        private final AtomicLong serial = new AtomicLong();
        private final AtomicLong left = new AtomicLong();
        private final Queue<String> unaudited = new ConcurrentLinkedQueue<>();
        /** Those that are still to be looked at, in this order; guarded by itself. */
        private final Set<String> unlooked = new LinkedHashSet<>();

        private volatile boolean over; // written by the one who holds this, which guards all below
        private boolean made;
        private long provenNanos;
        /** For so long a write may take until another is begun beside it: a lost one has no answer. */
        private long patienceNanos;

        private final List<Ask> asks = new ArrayList<>();
        private @Nullable Write last; // that was begun and has no answer
        private CompletableFuture<?> written = CompletableFuture.completedFuture(true); // once all that is under way is
        private long writes;

        private Session(String id, Duration lease) {
            this.id = id;
            this.lease = lease;
            patienceNanos = lease.toNanos() / 30;
        }

        private CompletableFuture<Answer> renew(Lease share, CompletableFuture<Boolean> lives) {
            var nonce = share.claim().nonce();
            var asked = new Member(share.claim(), clock.nanos(), serial.incrementAndGet());
            members.put(nonce, asked); // before it may be so
            // once it is over, or was asked for again, there may be a proof for the seat alone, later than the
            // session's
            BooleanSupplier mayJoin = () -> !over && asked.equals(members.get(nonce));
            return lives.thenCompose(alive -> alive ? seats.renew(share, id, mayJoin) : alone(share))
                    .thenApply(answer -> {
                        if (!answer.granted()) {
                            leave(nonce);
                        }
                        return answer;
                    });
        }

        /**
         * Prolongs the session by a write that is sent after this is called; false if the session is over permanently.
         *
         * <p>One write answers all who asked before it was sent. Should it take long, another is begun beside it, since
         * it may be lost; they get in each other's way, but one of them always succeeds.
         */
        private CompletableFuture<Boolean> sustain() {
            var ask = new Ask(clock.nanos(), new CompletableFuture<>());
            Write write;
            synchronized (this) {
                asks.add(ask);
                if (last != null && ask.nanos - last.nanos <= patienceNanos) {
                    return ask.lives;
                }
                write = new Write(ask.nanos, ++writes);
                last = write;
            }
            begin(write);
            return ask.lives;
        }

        private void begin(Write write) {
            var unused = send(write.nanos).whenComplete((lives, error) -> {
                var answered = new ArrayList<Ask>();
                Write next = null;
                synchronized (this) {
                    var isLast = write.equals(last);
                    asks.removeIf(ask -> isAnswered(ask, write, lives, isLast) && answered.add(ask));
                    if (isLast) {
                        next = asks.isEmpty() ? null : new Write(clock.nanos(), ++writes);
                        last = next;
                    }
                }
                for (var ask : answered) {
                    if (lives == null) {
                        ask.lives.completeExceptionally(Seats.cause(error));
                    } else {
                        ask.lives.complete(lives);
                    }
                }
                if (next != null) {
                    begin(next);
                }
            });
        }

        /** That a session is over answers all; a write answers earlier requests only, and none if it is lost. */
        private boolean isAnswered(Ask ask, Write write, @Nullable Boolean lives, boolean isLast) {
            if (lives == null) {
                return isLast && write.nanos - ask.nanos >= 0;
            }
            return !lives || provenNanos - ask.nanos >= 0;
        }

        private CompletableFuture<Boolean> send(long sent) {
            boolean isMade;
            var answered = new CompletableFuture<Boolean>();
            synchronized (this) {
                isMade = made;
                if (made && sent - provenNanos >= lease.toNanos()) {
                    end();
                }
                if (over) {
                    return CompletableFuture.completedFuture(false);
                }
                written = CompletableFuture.allOf(written, answered);
            }
            var sustaining = CompletableFuture.completedFuture(isMade)
                    .thenCompose(known -> seats.sustain(id, lease, known, left.get()));
            return sustaining.handle((sustained, error) -> {
                answered.complete(true);
                synchronized (this) {
                    if (sustained != null && sustained.lives()) {
                        var proof = sustained.sentNanos();
                        patienceNanos = patience(clock.nanos() - proof);
                        provenNanos = made && provenNanos - proof > 0 ? provenNanos : proof;
                        made = true;
                    } else if (sustained != null || !made) { // one whose making is in doubt is not tried again
                        end();
                    }
                }
                if (sustained == null) {
                    if (!isMade && isRefused(Seats.cause(error))) {
                        return false; // each is renewed alone
                    }
                    throw Seats.cause(error);
                }
                if (sustained.lives()) {
                    look(sustained.lookedFor());
                    sweep(sent);
                }
                return sustained.lives();
            });
        }

        /** One who may write its seats, and no session, goes on without for a while. */
        private boolean isRefused(RuntimeException error) {
            var refused = error instanceof ElectionException && !(error instanceof UnavailableException);
            if (refused) {
                if (barredUntilNanos.isEmpty()) {
                    log.info(
                            "{}: each lease is renewed alone, because no session can be written: {}",
                            store.describe(),
                            error.getMessage());
                }
                barredUntilNanos = OptionalLong.of(clock.nanos() + BARRED_NANOS);
            }
            return refused;
        }

        /** After so long another write is begun: not sooner than this one can be expected to be answered. */
        private long patience(long latencyNanos) {
            return Math.min(Math.max(3 * latencyNanos, lease.toNanos() / 1_000), lease.toNanos() / 10);
        }

        private synchronized void end() {
            if (!over) {
                over = true;
                ended.add(RecordKey.session(id));
                seats.forgetOwn(id, lease);
            }
        }

        /**
         * Has a few seats read in turn when they are renewed next: that one was taken away, by the one who had no right
         * to, we may not have heard.
         */
        private void audit() {
            for (var few = Math.max(1, Math.min(MOST_AUDITED, members.size() / FEWEST)); few > 0; few--) {
                if (unaudited.isEmpty()) {
                    inOrder(member -> true).forEach(each -> unaudited.add(each.claim.nonce()));
                }
                var member = members.get(String.valueOf(unaudited.poll()));
                if (member != null) {
                    seats.hint(member.claim.election());
                }
            }
        }

        /** Anybody who waits for the seat learns by this number that it has to look, should it hear nothing else. */
        private void leave(String nonce) {
            if (members.remove(nonce) != null) {
                left.incrementAndGet();
                if (members.isEmpty()) {
                    end();
                    remove(RecordKey.session(id), written());
                }
            }
        }

        private synchronized CompletableFuture<?> written() {
            return written;
        }

        /** Somebody has written into a seat of ours, or into several, which we might not have heard. */
        private void look(String election) {
            if (election.equals(SeatRecord.ALL)) {
                var all = inOrder(member -> true);
                synchronized (unlooked) {
                    all.forEach(member -> unlooked.add(member.claim.nonce())); // those there keep their place
                }
            } else if (!election.isEmpty()) {
                inOrder(member -> election.equals(member.claim.election()))
                        .forEach(member -> seats.hint(member.claim.election()));
            }
            for (var nonce : nextToLookAt()) {
                var member = members.get(nonce);
                if (member != null) {
                    seats.hint(member.claim.election());
                }
            }
        }

        private List<String> nextToLookAt() {
            synchronized (unlooked) {
                var next = unlooked.stream()
                        .limit(Math.max(FEW_LOOKED_AT, members.size() / PART_LOOKED_AT))
                        .toList();
                next.forEach(unlooked::remove);
                return next;
            }
        }

        /** Releases what nobody has asked for, and what was over long ago. */
        private void sweep(long now) {
            for (var member : inOrder(each -> now - each.askedNanos >= lease.toNanos())) {
                var nonce = member.claim.nonce();
                if (members.replace(nonce, member, new Member(member.claim, now, serial.incrementAndGet()))) {
                    var unused = seats.release(member.claim, true).thenRun(() -> leave(nonce));
                }
            }
            audit();
        }

        /** Returns some of the members in the order in which they asked; that of their nonces is chance. */
        private List<Member> inOrder(Predicate<Member> which) {
            return members.values().stream()
                    .filter(which)
                    .sorted(Comparator.comparingLong(Member::serial))
                    .toList();
        }
    }
}

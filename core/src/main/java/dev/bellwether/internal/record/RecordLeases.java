package dev.bellwether.internal.record;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.View;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The record engine: makes leases of a {@link RecordStore}. What may be claimed, extended and released, and when, is
 * decided in {@link SeatRules} and the {@link SeatRequest}s; why that is safe is written there. Thread-safe; blocks
 * only in {@link #close} and {@link #findings}.
 */
public final class RecordLeases implements LeaseStore {
    private static final Logger log = LoggerFactory.getLogger(RecordLeases.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final long CLOSE_SECONDS = 2;
    private static final int MANY = 100;
    /** So many elections of a list are read at a time. */
    private static final int PORTION = 64;
    /** For this part of a lease a claim waits for the first sign of its candidate. */
    private static final int SIGNED_SOON = 10;

    private final RecordStore store;
    private final Seats seats;
    private final LeaseSessions sessions;
    private final Standbys standbys;
    private final Function<Duration, Executor> later;
    /** Candidates that are being removed from the list: {@link #close} waits a while for them. */
    private final Map<Long, CompletableFuture<?>> leaving = new ConcurrentHashMap<>();

    private final AtomicLong serial = new AtomicLong();
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Makes leases of a store, which is closed with this. */
    public RecordLeases(RecordStore store) {
        this(store, Clock.system(), new Stamps(), DelayThread::after);
    }

    /**
     * Makes leases of a store by another clock and another source of chance. What would be tried again later is not.
     *
     * @param stamps gives a text that nobody else is given, not even a copy of this process
     */
    public RecordLeases(RecordStore store, Clock clock, Supplier<String> stamps) {
        this(store, clock, stamps, pause -> task -> {});
    }

    /** Makes them with what runs a task so much later. */
    RecordLeases(RecordStore store, Clock clock, Supplier<String> stamps, Function<Duration, Executor> later) {
        this.store = store;
        this.later = later;
        seats = new Seats(store, clock, stamps);
        sessions = new LeaseSessions(store, seats, clock, stamps);
        standbys = new Standbys(store, clock, later);
    }

    /** Copies of a process have the same state of the generator, but not the same instant. */
    private static final class Stamps implements Supplier<String> {
        private final SecureRandom random = new SecureRandom();

        @Override
        public String get() {
            return Long.toUnsignedString(random.nextLong(), 36) + '.' + Long.toUnsignedString(System.nanoTime(), 36);
        }
    }

    @Override
    public String describe() {
        return store.describe();
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig candidacy) {
        return store.completed(candidacy);
    }

    @Override
    public void check(String election, CandidacyConfig candidacy) {
        store.check(election, candidacy);
        var others = store.traits().others();
        if (!SeatRules.TRUE.mayStand(candidacy.lease(), others)) {
            throw new ElectionException("lease " + Durations.show(candidacy.lease()) + " is longer than the "
                    + Durations.show(others.longestLease())
                    + " that are safe beside candidates of others with a lease of "
                    + Durations.show(others.lease()) + ": one of them could lead before ours is over. Make it "
                    + Durations.show(others.longestLease()) + " or shorter");
        }
        store.objection(election, candidacy.lease())
                .ifPresent(brief -> log.warn("{}: {}; {}", describe(), brief.says(), brief.remedy()));
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        var all = new ArrayList<>(Finding.vacancies(candidacy));
        all.add(Finding.ok(
                "clock",
                "no server's clock decides: each candidate waits for the lease by its own, from the last renewal that"
                        + " it saw; one that missed the last notices may wait up to a lease more"));
        all.addAll(store.findings(candidacy));
        if (store.traits().writeOnly()) {
            all.add(Finding.warning(
                    "rights", store.traits().unreadable(), "grant it, as the page of this backend says"));
        } else {
            all.addAll(objections());
        }
        return all;
    }

    /** Returns what is wrong with the first of many elections. Blocks. */
    private List<Finding> objections() {
        var all = new ArrayList<Finding>();
        try {
            for (var election : answer(elections()).stream().limit(MANY).toList()) {
                objection(election).ifPresent(all::add);
            }
        } catch (UnavailableException e) {
            log.debug("{} does not list its leases: {}", describe(), e.getMessage());
        } catch (ElectionException e) {
            all.add(unreadable("the list of elections", e));
        }
        return all;
    }

    /** One record that cannot be read hides none of its neighbours. */
    private Optional<Finding> objection(String election) {
        try {
            var record = answer(seats.read(election)).record();
            return record.isHeld() ? store.objection(election, record.lease()) : Optional.empty();
        } catch (UnavailableException e) {
            throw e;
        } catch (ElectionException e) {
            return Optional.of(unreadable("election \"" + election + '"', e));
        }
    }

    private static Finding unreadable(String what, ElectionException why) {
        var says = what + " cannot be read: " + why.getMessage();
        var remedy = "do what this says; other elections are not affected";
        return why instanceof AccessRefusedException
                ? Finding.error("rights", says, remedy)
                : Finding.error("record", says, remedy);
    }

    private static <T> T answer(CompletableFuture<T> asked) {
        try {
            return asked.join();
        } catch (CompletionException e) {
            throw Seats.cause(e);
        }
    }

    /** Not where a record may be dropped, or be written by others: what it was raised to would be forgotten. */
    @Override
    public boolean setsTokens() {
        return !store.traits().mayVanish()
                && !store.traits().writeOnly()
                && !store.traits().hasGrace()
                && !store.traits().others().apply();
    }

    // ---------------------------------------------------------------- candidates

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        sessions.tidy();
        var first = standbys.enrol(claim);
        return seats.acquire(claim, first.isPresent())
                .thenCompose(answer -> first.isPresent() && !answer.granted()
                        ? unlessRefused(claim, answer, first.get())
                        : CompletableFuture.completedFuture(answer))
                .thenApply(this::withPriority);
    }

    /**
     * While another leads, the first claim of a candidate only reads. Whether it may write as well, its first sign
     * tells: else it would be found when the seat is vacant, and nobody would lead. One that is not answered soon tells
     * nothing.
     */
    private CompletableFuture<Answer> unlessRefused(
            Claim claim, Answer answer, CompletableFuture<Optional<AccessRefusedException>> signed) {
        var soon = new CompletableFuture<Optional<AccessRefusedException>>();
        if (!signed.isDone()) {
            later.apply(claim.lease().dividedBy(SIGNED_SOON)).execute(() -> soon.complete(Optional.empty()));
        }
        return signed.applyToEither(soon, refusal -> {
            if (refusal.isPresent()) {
                throw refusal.get();
            }
            return answer;
        });
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        var renewed = sessions.renew(leases);
        for (var lease : leases) {
            if (!sessions.isMember(lease.claim())) { // a leader is listed by its seat; this is for small numbers
                standbys.sustain(lease.claim()); // not enrol: this may come after its release
            }
        }
        return renewed.stream()
                .<CompletionStage<Answer>>map(answer -> answer.thenApply(this::withPriority))
                .toList();
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        var released = seats.release(claim).thenApply(answer -> {
            sessions.forget(claim);
            return answer;
        });
        var id = serial.incrementAndGet();
        var left = standbys.strike(claim, released);
        leaving.put(id, left);
        var unused = left.whenComplete((done, error) -> leaving.remove(id));
        return released.thenApply(this::withPriority);
    }

    private Answer withPriority(Answer answer) {
        return new Answer(
                answer.granted(), standbys.complete(answer.view(), answer.view().candidates()));
    }

    // ---------------------------------------------------------------- observers and operators

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        if (store.traits().writeOnly()) {
            return Watch.NONE;
        }
        Consumer<View> told = view -> watcher.accept(standbys.complete(view, view.candidates()));
        seats.watch(election, told);
        Watch heard;
        try {
            heard = store.watch(RecordKey.seat(election), found -> heard(election, found));
        } catch (RuntimeException | Error e) { // the last may find no thread
            seats.unwatch(election, told);
            throw e;
        }
        if (heard.equals(Watch.NONE)) {
            seats.unwatch(election, told);
            return heard;
        }
        var ended = new AtomicBoolean();
        return () -> {
            if (ended.compareAndSet(false, true)) {
                try {
                    heard.close();
                } finally {
                    seats.unwatch(election, told);
                }
            }
        };
    }

    /** What is heard is a hint: one that cannot be read, or that a watcher fails on, hurts no other. */
    private void heard(String election, RecordStore.Found found) {
        try {
            seats.heard(RecordKey.seat(election), found);
        } catch (Throwable e) {
            log.warn("{}: a notice of a change of \"{}\" could not be processed", describe(), election, e);
        }
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return seats.order(election, order);
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return seats.note(election, token, expected, note);
    }

    @Override
    public Optional<String> handOverObjection() {
        return store.traits().writeOnly()
                ? Optional.of(store.traits().unreadable() + ", and so nobody would see a note over a seat")
                : Optional.empty();
    }

    @Override
    public boolean listsCandidates() {
        return store.traits().listsStandbys();
    }

    @Override
    public CompletionStage<View> read(String election) {
        return seats.read(election).thenCompose(observed -> {
            // in a crowd, who reads is a candidate of ours whose claim went unanswered, and waits for this
            var listed = !store.traits().listsStandbys() || store.isCrowded()
                    ? CompletableFuture.completedFuture(Standbys.Listed.UNKNOWN)
                    : standbys.list(
                            election,
                            seats.isHeld(election, observed) ? observed.record().candidate() : "");
            return listed.handle(
                    (found, error) -> view(election, observed, found == null ? Standbys.Listed.UNKNOWN : found));
        });
    }

    /** For display, a leader is gone if its lease should be over by the clock of the server that wrote it down. */
    private View view(String election, ObservedRecord observed, Standbys.Listed listed) {
        var plain = standbys.complete(seats.view(election, observed), listed.candidates())
                .listingAll(listed.isWhole());
        if (plain.holder().isEmpty()) {
            return plain;
        }
        var seat = observed.record();
        var gone = seats.until(observed)
                .filter(until -> listed.now().filter(until::isBefore).isPresent())
                .isPresent();
        var all = new ArrayList<Candidate>();
        listed.candidates()
                .forEach(one -> all.add(new Candidate(
                        one.id(),
                        one.priority(),
                        one.leads() ? seat.metadata() : one.metadata(),
                        one.leads() && !gone,
                        one.leads() && !gone ? Optional.empty() : one.heard())));
        if (!gone && all.stream().noneMatch(Candidate::leads)) {
            all.add(new Candidate(seat.candidate(), seat.priority(), seat.metadata(), true));
        }
        var shown = gone ? plain.heldBy(Optional.empty(), Duration.ZERO).orderedToStandDown(false) : plain;
        return shown.among(plain.topPriority(), List.copyOf(all));
    }

    @Override
    public CompletionStage<List<String>> list() {
        return elections().thenCompose(elections -> {
            if (store.traits().writeOnly()) {
                return CompletableFuture.completedFuture(elections);
            }
            var listed = new ArrayList<String>();
            var read = CompletableFuture.completedFuture(listed);
            for (var from = 0; from < elections.size(); from += PORTION) {
                var portion = elections.subList(from, Math.min(elections.size(), from + PORTION));
                read = read.thenCompose(done -> listed(portion)).thenApply(found -> {
                    listed.addAll(found);
                    return listed;
                });
            }
            return read.thenApply(List::copyOf);
        });
    }

    /** Returns those that were not deleted. Each is asked for with its whole time, so that these must not be many. */
    private CompletableFuture<List<String>> listed(List<String> elections) {
        var listed = elections.stream()
                .map(election -> seats.read(election)
                        .handle((observed, error) ->
                                isListed(observed, error) ? Optional.of(election) : Optional.<String>empty()))
                .toList();
        return CompletableFuture.allOf(listed.toArray(CompletableFuture[]::new))
                .thenApply(done -> listed.stream()
                        .map(CompletableFuture::join)
                        .flatMap(Optional::stream)
                        .toList());
    }

    /** One record that cannot be read hides none of its neighbours. */
    private static boolean isListed(@Nullable ObservedRecord observed, @Nullable Throwable error) {
        if (observed == null && Seats.cause(error) instanceof UnavailableException unavailable) {
            throw unavailable;
        }
        return observed == null || observed.record().orders().listed();
    }

    private CompletableFuture<List<String>> elections() {
        return store.list(List.of(), RecordKey.OF_SEAT, PATIENCE)
                .thenApply(listing -> listing.keys().stream()
                        .map(RecordKey::election)
                        .sorted()
                        .toList())
                .toCompletableFuture();
    }

    // ---------------------------------------------------------------- the end

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        var interrupted = Thread.interrupted(); // what is bounded is done anyway
        try {
            leaving.put(serial.incrementAndGet(), sessions.removed());
            leaving.put(serial.incrementAndGet(), standbys.removed());
            if (awaitLeaving()) {
                interrupted = true;
                awaitLeaving();
            }
        } finally {
            store.close();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits a while until all that was released is off the list; returns whether that was interrupted. */
    private boolean awaitLeaving() {
        try {
            CompletableFuture.allOf(leaving.values().toArray(CompletableFuture[]::new))
                    .get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            log.debug("{}: not all have left: {}", describe(), e.getMessage()); // what they left behind runs out
        } catch (InterruptedException e) {
            return true;
        }
        return false;
    }
}

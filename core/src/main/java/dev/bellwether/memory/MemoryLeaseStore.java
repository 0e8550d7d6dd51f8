package dev.bellwether.memory;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Seats in the memory of one process.
 *
 * <p>Thread-safe: one lock over all seats. Every answer is there at once; watchers are told on the thread that made the
 * change, outside the lock. Closing does nothing, since others may share the store.
 */
public final class MemoryLeaseStore implements LeaseStore {
    private final Clock clock;
    private final MemoryRosters rosters;
    private final Map<String, Seat> seats = new TreeMap<>();

    /** Makes a store whose leases run by the given clock. */
    public MemoryLeaseStore(Clock clock) {
        this.clock = clock;
        rosters = new MemoryRosters(new MemoryGroups(clock, true));
    }

    @Override
    public List<Finding> findings(CandidacyConfig config) {
        var all = new ArrayList<>(Finding.vacancies(config));
        all.add(Finding.warning(
                "durability",
                "it lives and ends with one process, and tokens with it",
                "use it for tests; for anything else name another backend"));
        return all;
    }

    @Override
    public String describe() {
        return "memory";
    }

    @Override
    public boolean setsTokens() {
        return true;
    }

    @Override
    public Optional<RosterCarrier> rosters() {
        return Optional.of(rosters);
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        return answer(claim.election(), seat -> {
            if (claim.isBefore(seat.era)) {
                return false;
            }
            seat.listed = true;
            seat.enrol(claim);
            if (seat.ended || seat.isHeld()) {
                return false;
            }
            seat.token = claim.tokenAfter(seat.token);
            seat.holder = claim;
            seat.since = Instant.ofEpochMilli(clock.wallMillis());
            seat.endNanos = clock.nanos() + claim.lease().toNanos();
            seat.standDown = false;
            seat.note = "";
            seat.changed = true;
            return true;
        });
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        return leases.stream().map(this::renew).toList();
    }

    private CompletionStage<Answer> renew(Lease lease) {
        return answer(lease.claim().election(), seat -> {
            if (!seat.isHeldUnder(lease.claim().nonce()) || seat.token != lease.token()) {
                return false;
            }
            var endNanos = clock.nanos() + lease.term().toNanos();
            seat.changed = endNanos - seat.endNanos < 0 // the others need not wait as long as they believe
                    || !seat.metadata().equals(lease.claim().metadata());
            seat.endNanos = endNanos;
            seat.holder = lease.claim();
            seat.enrol(lease.claim());
            return true;
        });
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        return answer(claim.election(), seat -> {
            seat.enrolled.remove(claim.candidate());
            if (!seat.isHeldUnder(claim.nonce())) {
                return false;
            }
            seat.holder = null;
            seat.changed = true;
            return true;
        });
    }

    @Override
    public CompletionStage<View> read(String election) {
        return answer(election, seat -> true).thenApply(Answer::view);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        var seat = seat(election);
        seat.watchers.add(watcher);
        return () -> seat.watchers.remove(watcher);
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return answer(election, seat -> switch (order) {
                    case STAND_DOWN -> {
                        seat.standDown = seat.isHeld();
                        seat.changed = seat.standDown;
                        yield seat.standDown;
                    }
                    case END -> {
                        seat.ended = true;
                        seat.listed = true;
                        seat.changed = true;
                        yield true;
                    }
                    case DELETE -> {
                        seat.era++;
                        seat.ended = false;
                        seat.listed = false;
                        seat.changed = true;
                        yield true;
                    }
                    case REOPEN -> {
                        seat.changed = seat.ended;
                        seat.era += seat.ended ? 1 : 0;
                        seat.ended = false;
                        yield seat.changed;
                    }
                })
                .thenApply(Answer::granted);
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return answer(election, seat -> {
                    seat.changed = seat.isHeld() && seat.token == token && seat.note.equals(expected);
                    seat.note = seat.changed ? note : seat.note;
                    return seat.changed;
                })
                .thenApply(Answer::granted);
    }

    @Override
    public Optional<String> handOverObjection() {
        return Optional.empty();
    }

    @Override
    public CompletionStage<List<String>> list() {
        synchronized (seats) {
            return CompletableFuture.completedStage(seats.values().stream()
                    .filter(seat -> seat.listed)
                    .map(seat -> seat.election)
                    .toList());
        }
    }

    @Override
    public void close() {}

    private Seat seat(String election) {
        synchronized (seats) {
            return seats.computeIfAbsent(election, Seat::new);
        }
    }

    private CompletionStage<Answer> answer(String election, Predicate<Seat> change) {
        var seat = seat(election);
        Answer answer;
        boolean changed;
        synchronized (seats) {
            seat.changed = false;
            var granted = change.test(seat);
            changed = seat.changed;
            answer = new Answer(granted, seat.view());
        }
        if (changed) {
            seat.watchers.forEach(watcher -> watcher.accept(answer.view()));
        }
        return CompletableFuture.completedStage(answer);
    }

    /** One row. Guarded by {@link #seats}, but for the watchers. */
    private final class Seat {
        private final String election;
        private final List<Consumer<View>> watchers = new CopyOnWriteArrayList<>();
        private final Map<String, Enrolled> enrolled = new TreeMap<>();
        private long token;
        private @Nullable Claim holder;
        private Instant since = Instant.EPOCH;
        private long endNanos;
        private boolean standDown;
        private String note = "";
        private boolean ended;
        private boolean listed;
        private boolean changed;
        private long era;

        private Seat(String election) {
            this.election = election;
        }

        private boolean isHeld() {
            return holder != null && clock.nanos() - endNanos < 0;
        }

        private boolean isHeldUnder(String nonce) {
            return isHeld() && holder != null && holder.nonce().equals(nonce);
        }

        private Map<String, String> metadata() {
            return holder == null ? Map.of() : holder.metadata();
        }

        private void enrol(Claim claim) {
            enrolled.put(
                    claim.candidate(),
                    new Enrolled(claim, clock.nanos() + claim.patience().toNanos()));
        }

        private View view() {
            enrolled.values().removeIf(one -> clock.nanos() - one.untilNanos >= 0);
            var held = isHeld() ? holder : null;
            return View.of(election, token)
                    .heldBy(
                            Optional.ofNullable(held)
                                    .map(claim ->
                                            new View.Holder(claim.candidate(), claim.nonce(), since, claim.metadata())),
                            held == null ? Duration.ZERO : Duration.ofNanos(endNanos - clock.nanos()))
                    .orderedToStandDown(standDown && held != null)
                    .inEra(era, ended)
                    .noted(note)
                    .among(
                            enrolled.values().stream()
                                    .mapToInt(one -> one.claim.priority())
                                    .max()
                                    .orElse(Integer.MIN_VALUE),
                            enrolled.values().stream()
                                    .map(one -> new Candidate(
                                            one.claim.candidate(),
                                            one.claim.priority(),
                                            one.claim.metadata(),
                                            held != null && held.candidate().equals(one.claim.candidate())))
                                    .toList());
        }
    }

    private record Enrolled(Claim claim, long untilNanos) {}
}

package dev.bellwether.internal.record;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Candidate;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who stands: a record for each candidate, written when it comes, again from time to time, and removed when it leaves.
 * For display, and so that low priorities know of higher ones; nothing else depends on it. Thread-safe. Never blocks.
 */
final class Standbys {
    private static final Logger log = LoggerFactory.getLogger(Standbys.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
    private static final Duration LONGEST_BETWEEN_QUESTIONS = Duration.ofSeconds(30);
    /** So many candidates are known that nobody lists; of one who is forgotten it costs a reading. */
    private static final int MOST_MET = 100_000;
    /** So many elections are asked for one by one. */
    private static final int FEW = 8;

    private final RecordStore store;
    private final Clock clock;
    private final Function<Duration, Executor> later;
    private final Duration presence;
    private final Map<RecordKey, Sign> signs = new ConcurrentHashMap<>();
    /** What is being written or removed under a key, behind which the next waits. */
    private final Map<RecordKey, CompletableFuture<?>> turns = new ConcurrentHashMap<>();

    private final Map<String, Priorities> priorities =
            new ConcurrentHashMap<>(); // by election that somebody stands for here
    private final Set<RecordKey> met = ConcurrentHashMap.newKeySet(); // those who stand, where nobody is listed
    private final Set<RecordKey> unlisted = ConcurrentHashMap.newKeySet(); // those whose last sign could not be written
    private final Set<String> wanted =
            new LinkedHashSet<>(); // elections whose priorities are to be asked for; guarded by itself
    private boolean asking; // guarded by wanted

    /** Those who have left, and could not be removed yet. */
    private final Map<RecordKey, Removal> unremoved = new ConcurrentHashMap<>();

    private volatile boolean over;

    /** What is to be removed since then, and if that fails, again so much later. */
    private record Removal(long sinceNanos, Duration pause) {
        private Removal later() {
            var twice = pause.multipliedBy(2);
            return new Removal(sinceNanos, twice.compareTo(LONGEST_PAUSE) < 0 ? twice : LONGEST_PAUSE);
        }
    }

    /**
     * The last sign of a candidate of ours.
     *
     * @param refusal how it was refused, once that is known; empty if it was not
     */
    private record Sign(
            long writtenNanos,
            Map<String, String> metadata,
            CompletableFuture<Optional<AccessRefusedException>> refusal) {}

    /** What is known of an election's priorities. */
    private record Priorities(int standing, long askedNanos, int top) {
        private Priorities one(int more) {
            return new Priorities(standing + more, askedNanos, top);
        }
    }

    Standbys(RecordStore store, Clock clock, Function<Duration, Executor> later) {
        this.store = store;
        this.clock = clock;
        this.later = later;
        presence = store.traits().presence();
    }

    private boolean isOff() {
        return presence.isZero();
    }

    /**
     * Sees to it that a candidate is listed. If it is the first that is heard of it, or may be, returns how its sign
     * was refused, once that is known.
     */
    Optional<CompletableFuture<Optional<AccessRefusedException>>> enrol(Claim claim) {
        var key = key(claim);
        if (isOff()) {
            if (met.size() >= MOST_MET) {
                met.clear();
            }
            return met.add(key) ? Optional.of(CompletableFuture.completedFuture(Optional.empty())) : Optional.empty();
        }
        var now = clock.nanos();
        var first = new boolean[1];
        var sign = signs.computeIfAbsent(key, absent -> {
            first[0] = true;
            return sign(absent, claim, now);
        });
        if (first[0]) {
            priorities.merge(claim.election(), new Priorities(1, now, Integer.MIN_VALUE), (known, one) -> known.one(1));
            askPriorities(claim.election());
        } else {
            sustain(claim);
        }
        return first[0] ? Optional.of(sign.refusal) : Optional.empty();
    }

    /** Has a candidate give a further sign if it is time. One that has left is not listed again. */
    void sustain(Claim claim) {
        if (isOff()) {
            return;
        }
        var now = clock.nanos();
        signs.computeIfPresent(
                key(claim),
                (key, last) -> unlisted.remove(key)
                                || now - last.writtenNanos > betweenSignsNanos(claim)
                                || !last.metadata.equals(claim.metadata())
                        ? sign(key, claim, now)
                        : last);
        if (isTimeToAsk(claim.election(), now)) {
            askPriorities(claim.election());
        }
    }

    /** A candidate comes again within half of its patience: the sign after next must be in time. */
    private long betweenSignsNanos(Claim claim) {
        return Math.max(
                presence.toNanos() / 3,
                presence.minus(claim.patience()).dividedBy(2).toNanos());
    }

    private boolean isTimeToAsk(String election, long now) {
        var known = priorities.get(election);
        var period = Math.min(LONGEST_BETWEEN_QUESTIONS.toNanos(), presence.toNanos() / 4);
        return known != null
                && now - known.askedNanos > period
                && priorities.replace(election, known, new Priorities(known.standing, now, known.top));
    }

    /**
     * Removes a candidate from the list, when its last sign and its release have been answered. Should it come again
     * meanwhile, its next sign waits for that.
     */
    CompletableFuture<Boolean> strike(Claim claim, CompletableFuture<?> released) {
        var key = key(claim);
        met.remove(key);
        if (isOff() || signs.remove(key) == null) {
            return CompletableFuture.completedFuture(true);
        }
        priorities.computeIfPresent(claim.election(), (same, known) -> known.standing > 1 ? known.one(-1) : null);
        var removal = new Removal(clock.nanos(), FIRST_PAUSE);
        return inTurn(
                key,
                () -> released.handle((done, error) -> unlisted.remove(key)).thenCompose(done -> remove(key, removal)));
    }

    /** Removes a record; if that fails, later, until it has run out by itself. */
    private CompletableFuture<Boolean> remove(RecordKey key, Removal removal) {
        return CompletableFuture.completedFuture(key)
                .thenCompose(one -> store.remove(one, TIMEOUT))
                .handle((done, error) -> {
                    if (error != null) {
                        log.debug("{} stays listed for a while: {}", key, error.getMessage());
                        if (!over && clock.nanos() - removal.sinceNanos < presence.toNanos()) {
                            unremoved.put(key, removal.later());
                            later.apply(removal.pause).execute(() -> removeAgain(key, new ArrayList<>()));
                        }
                    }
                    return error == null;
                });
    }

    /** One that has come again meanwhile is not removed: its signs are given under the same lock. */
    private void removeAgain(RecordKey key, List<CompletableFuture<?>> begun) {
        signs.compute(key, (same, sign) -> {
            var removal = unremoved.remove(key);
            if (sign == null && removal != null && !over) {
                begun.add(inTurn(key, () -> remove(key, removal)));
            }
            return sign;
        });
    }

    /** Removes those who could not be removed yet, for the last time. Returns when each has been tried. */
    CompletableFuture<?> removed() {
        var begun = new ArrayList<CompletableFuture<?>>();
        unremoved.keySet().forEach(key -> removeAgain(key, begun));
        over = true;
        return CompletableFuture.allOf(begun.toArray(CompletableFuture[]::new));
    }

    /** Does this behind what is being written or removed under the key. It never fails. */
    private <T> CompletableFuture<T> inTurn(RecordKey key, Supplier<CompletableFuture<T>> what) {
        var mine = new CompletableFuture<T>();
        var before = turns.put(key, mine);
        var begun = before == null ? what.get() : before.thenCompose(done -> what.get());
        var unused = begun.whenComplete((done, error) -> {
            turns.remove(key, mine);
            mine.complete(done);
        });
        return mine;
    }

    /** Returns the view with what is known here beyond the seat. */
    View complete(View view, List<Candidate> candidates) {
        var known = priorities.get(view.election());
        return view.among(known == null ? Integer.MIN_VALUE : known.top, candidates);
    }

    // ---------------------------------------------------------------- priorities

    private void askPriorities(String election) {
        synchronized (wanted) {
            wanted.add(election);
        }
        askNext();
    }

    /*
     * One question at a time: a server looks through all of its keys for each, and where many elections begin together,
     * or are asked for from time to time, one question for all of their candidates is as good.
     */
    private void askNext() {
        List<String> elections;
        synchronized (wanted) {
            if (asking || wanted.isEmpty()) {
                return;
            }
            asking = true;
            elections = List.copyOf(wanted);
            wanted.clear();
        }
        var all = elections.size() <= FEW
                ? elections.stream()
                        .map(election -> ask(List.of(election), List.of(election)))
                        .toList()
                : List.of(ask(List.of(), elections));
        var unused = CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
                .whenComplete((done, error) -> {
                    synchronized (wanted) {
                        asking = false;
                    }
                    askNext();
                });
    }

    private CompletableFuture<?> ask(List<String> beginning, List<String> elections) {
        return keys(beginning).handle((listing, error) -> {
            if (listing == null) {
                log.debug("the priorities in {} elections are unknown: {}", elections.size(), message(error));
                return true;
            }
            var found = listing.keys().stream().collect(Collectors.groupingBy(RecordKey::election));
            for (var election : elections) {
                var listed = found.getOrDefault(election, List.of());
                if (!listed.isEmpty() || listing.isWhole()) {
                    var top = highest(listed.stream());
                    priorities.computeIfPresent(
                            election, (same, known) -> new Priorities(known.standing, known.askedNanos, top));
                }
            }
            return true;
        });
    }

    private static int highest(Stream<RecordKey> keys) {
        return keys.mapToInt(RecordKey::priority).max().orElse(Integer.MIN_VALUE);
    }

    private CompletableFuture<RecordStore.Listing> keys(List<String> beginning) {
        return CompletableFuture.completedFuture(beginning)
                .thenCompose(begin -> store.list(begin, RecordKey.OF_STANDBY, TIMEOUT));
    }

    // ---------------------------------------------------------------- the list

    /**
     * Who stands.
     *
     * @param now the store's clock; empty if it does not tell
     * @param isWhole whether these are all
     */
    record Listed(List<Candidate> candidates, Optional<Instant> now, boolean isWhole) {
        /** It is not known who stands. */
        static final Listed UNKNOWN = new Listed(List.of(), Optional.empty(), false);
    }

    /** Returns who stands, as far as the store tells; nobody leads among them but this one, if it is named. */
    CompletableFuture<Listed> list(String election, String leader) {
        return keys(List.of(election)).thenCompose(listing -> {
            var reads = listing.keys().stream()
                    .map(key -> store.read(key, Urgency.LIST, TIMEOUT).toCompletableFuture())
                    .toList();
            return CompletableFuture.allOf(reads.toArray(CompletableFuture[]::new))
                    .thenApply(done -> {
                        var listed = new ArrayList<Candidate>();
                        for (var read : reads) {
                            candidate(read.join(), leader, listing.now()).ifPresent(listed::add);
                        }
                        return new Listed(List.copyOf(listed), listing.now(), listing.isWhole());
                    });
        });
    }

    private static Optional<Candidate> candidate(Found found, String leader, Optional<Instant> now) {
        var fields = Fields.parse(found.text());
        var id = fields.text("candidate");
        var until = found.written().plusNanos(fields.number("presence_nanos"));
        if (found.what() != RecordStore.What.TEXT
                || id.isEmpty()
                || now.filter(until::isBefore).isPresent()) {
            return Optional.empty(); // a marker, not ours, or over
        }
        return Optional.of(new Candidate(
                id,
                (int) fields.number("priority"),
                fields.metadata(),
                id.equals(leader),
                Optional.of(found.written())));
    }

    /** A candidate may come again not sooner than its patience allows. */
    private Sign sign(RecordKey key, Claim claim, long now) {
        var kept = presence.compareTo(claim.patience()) > 0 ? presence : claim.patience();
        var text = Fields.with("candidate", claim.candidate())
                .and("priority", claim.priority())
                .and("presence_nanos", kept.toNanos())
                .andMetadata(claim.metadata())
                .build()
                .text();
        var isAgain = turns.containsKey(key); // behind its removal: it has stood before
        var refusal = inTurn(
                key,
                () -> CompletableFuture.completedFuture(text)
                        .thenCompose(said -> store.put(key, said, kept, TIMEOUT))
                        .handle((done, error) -> {
                            if (error != null) {
                                log.debug("{} is not listed for now: {}", key, error.getMessage());
                                unlisted.add(key);
                            }
                            return error != null && Seats.cause(error) instanceof AccessRefusedException refused
                                    ? Optional.of(refused)
                                    : Optional.<AccessRefusedException>empty();
                        }));
        return new Sign(now, claim.metadata(), isAgain ? CompletableFuture.completedFuture(Optional.empty()) : refusal);
    }

    private static String message(@Nullable Throwable error) {
        return error == null ? "" : String.valueOf(error.getMessage());
    }

    private static RecordKey key(Claim claim) {
        return RecordKey.standby(claim.election(), claim.priority(), claim.candidate());
    }
}

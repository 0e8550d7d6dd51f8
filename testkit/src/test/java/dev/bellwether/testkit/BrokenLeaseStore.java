package dev.bellwether.testkit;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The memory store with one fault: it shows that the contract would find it. Thread-safe as far as the faults need it.
 */
final class BrokenLeaseStore implements LeaseStore {
    private final @Nullable Fault fault;
    private volatile LeaseStore sound = new MemoryLeaseStore(Clock.system());
    private final Set<String> claimed = ConcurrentHashMap.newKeySet();
    private final Set<String> ordered = ConcurrentHashMap.newKeySet();
    private final Map<String, Long> forgotten = new ConcurrentHashMap<>();
    private final Map<String, View.Holder> lastHolders = new ConcurrentHashMap<>();
    private final Queue<byte[]> leakedMemory = new ConcurrentLinkedQueue<>();
    private final Queue<SocketChannel> leakedFiles = new ConcurrentLinkedQueue<>();
    private volatile boolean failing;

    BrokenLeaseStore(@Nullable Fault fault) {
        this.fault = fault;
    }

    private static SocketChannel open() {
        try {
            return SocketChannel.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Closes what was leaked, when that has been found. */
    void mend() {
        try {
            for (var one : leakedFiles) {
                one.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void leakAFile() {
        leakedFiles.add(open());
    }

    void failOneRenewal() {
        failing = true;
    }

    private boolean is(Fault one) {
        return fault == one;
    }

    /** The server stops and comes back. */
    void restarted() {
        if (is(Fault.RESTART_FORGETS)) {
            sound = new MemoryLeaseStore(Clock.system());
        }
    }

    /** The server stood still and goes on. */
    void resumed() {
        if (is(Fault.PAUSE_FORGETS)) {
            sound = new MemoryLeaseStore(Clock.system());
        }
    }

    @Override
    public String describe() {
        return "memory, broken: " + fault;
    }

    @Override
    public boolean setsTokens() {
        return !is(Fault.SETS_NO_TOKENS);
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        if (is(Fault.REFUSES_WITHOUT_SAYING_WHY) && election.contains("/")) {
            throw new ElectionException("error 22");
        }
    }

    // ---------------------------------------------------------------- the verbs

    @Override
    public CompletionStage<Answer> acquire(Claim asked) {
        var claim = bend(asked);
        if (is(Fault.FIRST_CLAIM_WAITS_FOR_A_LEASE) && claimed.add(claim.election())) {
            var view = View.unheld(claim.election());
            return done(new Answer(false, view.heldBy(Optional.of(holder(claim, "nobody")), claim.lease())));
        }
        if (is(Fault.LEAKS_MEMORY_PER_CLAIM)) {
            leakedMemory.add(new byte[300_000]);
        }
        if (is(Fault.LEAKS_A_FILE_PER_CLAIM)) {
            leakAFile();
        }
        if (is(Fault.LEAKS_A_ROW_PER_CLAIM)) {
            sound.acquire(rename(claim, claim.election() + claim.nonce()));
        }
        var answer = now(sound.acquire(claim));
        if (!answer.granted() && is(Fault.GRANTS_WHAT_IS_HELD)) {
            answer = new Answer(true, answer.view().heldBy(Optional.of(holder(claim, claim.nonce())), claim.lease()));
        }
        if (!answer.granted()
                && is(Fault.LETS_THE_SAME_ID_IN_AGAIN)
                && answer.view()
                        .leader()
                        .filter(leader -> leader.candidate().equals(claim.candidate()))
                        .isPresent()) {
            evict(claim);
            answer = now(sound.acquire(claim));
        }
        return done(new Answer(answer.granted(), shown(answer.view())));
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        return leases.stream().map(this::renew).toList();
    }

    private CompletionStage<Answer> renew(Lease asked) {
        if (failing) {
            failing = false;
            return CompletableFuture.failedStage(new UnavailableException("fails once more"));
        }
        var claim = bend(asked.claim());
        var token = now(sound.read(claim.election())).token();
        if (!is(Fault.TOKEN_DOES_NOT_RISE) && !is(Fault.DELETE_LOWERS_THE_TOKEN)) {
            token = asked.token();
        }
        var term = asked.term();
        var conceded = term.compareTo(asked.claim().lease()) < 0;
        if (is(Fault.LEASE_HALF_AS_LONG)) {
            term = term.dividedBy(2);
        } else if (is(Fault.LEASE_WITHOUT_END) || is(Fault.KEEPS_A_CONCEDED_LEASE)) {
            term = claim.lease();
        }
        if (conceded && is(Fault.CONCEDING_RELEASES)) {
            return release(asked.claim());
        }
        var answer = now(sound.renew(List.of(new Lease(claim, token, term))).get(0));
        if (!answer.granted() && is(Fault.REVIVES_LEASES_THAT_RAN_OUT)) {
            evict(claim);
            answer = now(sound.acquire(claim));
        }
        return done(new Answer(answer.granted(), shown(answer.view())));
    }

    @Override
    public CompletionStage<Answer> release(Claim asked) {
        var claim = bend(asked);
        var before = now(sound.read(claim.election()));
        if (is(Fault.FORGETS_RELEASE)) {
            return done(new Answer(true, shown(before)));
        }
        if (is(Fault.KEEPS_WHO_HAS_LEFT) && !before.heldUnder(claim.nonce())) {
            return done(new Answer(false, shown(before)));
        }
        if (is(Fault.RELEASES_FOR_ANYBODY)) {
            evict(claim);
        }
        var answer = now(sound.release(claim));
        return done(new Answer(answer.granted(), shown(answer.view())));
    }

    @Override
    public CompletionStage<View> read(String election) {
        return sound.read(bend(election)).thenApply(this::shown);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        return is(Fault.TELLS_NOBODY) ? Watch.NONE : sound.watch(bend(election), view -> watcher.accept(shown(view)));
    }

    @Override
    public CompletionStage<Boolean> order(String asked, Order order) {
        var election = bend(asked);
        if ((order == Order.STAND_DOWN && is(Fault.IGNORES_STAND_DOWN))
                || (order == Order.END && is(Fault.IGNORES_END))) {
            return done(now(sound.read(election)).holder().isPresent());
        }
        if (order == Order.STAND_DOWN) {
            ordered.add(election);
        }
        if (order == Order.DELETE) {
            forgotten.put(election, now(sound.read(election)).token());
        }
        return sound.order(election, order);
    }

    @Override
    public CompletionStage<Boolean> note(String asked, long token, String expected, String note) {
        return sound.note(bend(asked), token, expected, note);
    }

    @Override
    public Optional<String> handOverObjection() {
        return Optional.empty();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return is(Fault.LISTS_NOTHING) ? done(List.of()) : sound.list();
    }

    @Override
    public void close() {}

    // ---------------------------------------------------------------- the faults

    private String bend(String election) {
        return switch (fault == null ? Fault.LISTS_NOTHING : fault) {
            case ONE_SEAT_FOR_ALL_ELECTIONS -> "the one";
            case FOLDS_NAMES -> election.toLowerCase(Locale.ROOT);
            case CUTS_NAMES_OFF -> election.substring(0, Math.min(190, election.length()));
            default -> election;
        };
    }

    private Claim bend(Claim claim) {
        var lease = is(Fault.LEASE_HALF_AS_LONG)
                ? claim.lease().dividedBy(2)
                : is(Fault.LEASE_WITHOUT_END) ? Duration.ofDays(1) : claim.lease();
        return new Claim(
                bend(claim.election()),
                is(Fault.MANGLES_TEXT) ? claim.candidate().replaceAll("[^ -~]", "?") : claim.candidate(),
                claim.nonce(),
                lease,
                claim.patience(),
                claim.priority(),
                is(Fault.LOSES_METADATA) ? Map.of() : claim.metadata(),
                claim.era(),
                is(Fault.TOKEN_IS_NOT_THE_ONE_THAT_WAS_CHOSEN) ? 0 : claim.least());
    }

    private static Claim rename(Claim claim, String election) {
        return new Claim(
                election,
                claim.candidate(),
                claim.nonce(),
                claim.lease(),
                claim.patience(),
                claim.priority(),
                claim.metadata(),
                claim.era(),
                claim.least());
    }

    /** Takes the seat from whoever holds it. */
    private void evict(Claim by) {
        now(sound.read(by.election()))
                .holder()
                .ifPresent(holder -> now(sound.release(new Claim(
                        by.election(), holder.candidate(), holder.nonce(), by.lease(), by.patience(), 0, Map.of()))));
    }

    private View shown(View view) {
        var election = view.election();
        view.holder().ifPresent(holder -> lastHolders.put(election, holder));
        var token = view.token();
        if (is(Fault.TOKEN_DOES_NOT_RISE)) {
            token = Math.min(token, 1);
        } else if (is(Fault.DELETE_LOWERS_THE_TOKEN)) {
            token -= forgotten.getOrDefault(election, 0L);
        }
        var holder = view.holder();
        if (is(Fault.SHOWS_A_VACANT_SEAT_AS_HELD) && holder.isEmpty()) {
            holder = Optional.ofNullable(lastHolders.get(election));
        } else if (is(Fault.SHOWS_EACH_RENEWAL_AS_A_TERM)) {
            holder = holder.map(one -> new View.Holder(one.candidate(), one.nonce(), Instant.now(), one.metadata()));
        }
        return new View(
                election,
                token,
                holder,
                view.remaining(),
                view.standDown() || (is(Fault.STAND_DOWN_STICKS) && ordered.contains(election)),
                view.ended(),
                is(Fault.DELETE_IS_NOT_TOLD) ? 0 : view.era(),
                view.topPriority(),
                is(Fault.FORGETS_STANDBYS)
                        ? view.candidates().stream()
                                .filter(candidate -> candidate.leads())
                                .toList()
                        : view.candidates(),
                "",
                true);
    }

    private static View.Holder holder(Claim claim, String nonce) {
        return new View.Holder(claim.candidate(), nonce, Instant.now(), claim.metadata());
    }

    /** The sound store answers at once. */
    private static <T> T now(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }

    private static <T> CompletionStage<T> done(T value) {
        return CompletableFuture.completedStage(value);
    }
}

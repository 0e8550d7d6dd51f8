package dev.bellwether.testkit.sim;

import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.HandOverNote.Stage;
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
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The store as one process reaches it: through the network. A request without an answer stays open, or fails later. */
final class SimStore implements LeaseStore {
    private final World world;
    private final SimProcess process;
    private final Twin twin;
    private final SimCalls calls;
    private final List<Watched> open = new ArrayList<>();

    SimStore(World world, SimProcess process, @Nullable SimProcess original) {
        this.world = world;
        this.process = process;
        twin = new Twin(original == null ? null : original.store().twin());
        calls = new SimCalls(world, process);
    }

    @Override
    public String describe() {
        return "simulated store";
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        process.candidacies().forEach(one -> one.claims(claim));
        var sent = twin.sent(claim);
        return write(
                "claim " + shown(sent),
                () -> world.server().leavesUndecided(sent)
                        ? null
                        : theirs().acquire(sent).toCompletableFuture().join());
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        var sent = leases.stream()
                .map(lease -> new Lease(twin.sent(lease.claim()), lease.token(), lease.term()))
                .toList();
        var what = !world.trace().isOn()
                ? ""
                : "renewal " + leases.stream().map(SimStore::shown).toList();
        var given = write(
                what,
                () -> theirs().renew(sent).stream()
                        .map(stage -> stage.toCompletableFuture().join())
                        .toList());
        var answers = new ArrayList<CompletionStage<Answer>>();
        for (var i = 0; i < leases.size(); i++) {
            var mine = i;
            answers.add(given.thenApply(all -> all.get(mine)));
        }
        return answers;
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        var sent = twin.sent(claim);
        return write(
                "release " + shown(sent),
                () -> theirs().release(sent).toCompletableFuture().join());
    }

    @Override
    public CompletionStage<View> read(String election) {
        return call("read \"" + election + '"', () -> world.server().read(election));
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        var remote = new RemoteWatch<View>(
                world, process, told -> theirs().watch(election, told), view -> watcher.accept(twin.seen(view)));
        remote.send();
        var watched = new Watched(election, remote);
        open.add(watched);
        return () -> {
            open.remove(watched);
            remote.close();
        };
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return write(
                "order " + order + " \"" + election + '"', () -> world.server().carryOut(election, order));
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return write(
                "note over token " + token + " of \"" + election + '"',
                () -> world.server().note(election, token, expected, note));
    }

    @Override
    public Optional<String> handOverObjection() {
        return Optional.empty();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return call("list", () -> theirs().list().toCompletableFuture().join());
    }

    @Override
    public void close() {
        world.server().disconnected(process);
    }

    Twin twin() {
        return twin;
    }

    /** Tells this process of something that is not so. */
    void forge(RandomGenerator random) {
        if (open.isEmpty()) {
            return;
        }
        var whom = open.get(random.nextInt(open.size()));
        var truth = world.server().look(whom.election);
        var held = Optional.of(truth.holder()
                .orElse(new View.Holder(
                        "stranger", "no nonce of ours at all, but long enough", Instant.EPOCH, Map.of())));
        var kind = random.nextInt(7);
        var token = kind == 1 ? truth.token() + 1 + random.nextInt(3) : truth.token();
        var forged = View.of(truth.election(), token)
                .heldBy(
                        kind == 2 ? Optional.empty() : kind == 3 ? held : truth.holder(),
                        kind == 3 ? Duration.ofDays(3_650) : truth.remaining())
                .orderedToStandDown(kind == 4)
                .inEra(kind == 5 ? truth.era() + 1 : truth.era(), kind == 0)
                .among(truth.topPriority(), truth.candidates())
                .noted(kind == 6 ? ready(truth) : truth.note());
        if (world.trace().isOn()) {
            world.trace()
                    .line(
                            "storm",
                            process.name() + " is told what is not so: " + shown(forged) + ", era " + forged.era());
        }
        world.network().answer(process, "a forged notification", () -> whom.watch.tell(forged));
    }

    /** A note by which somebody is ready for the seat who may not even stand. */
    private static String ready(View seat) {
        return new HandOverNote(seat.token(), "forged", Stage.READY, Duration.ofSeconds(1), "stranger").text();
    }

    private record Watched(String election, RemoteWatch<View> watch) {}

    private LeaseStore theirs() {
        return world.server().store();
    }

    private <T> CompletableFuture<T> call(String what, Supplier<T> request) {
        return calls.call(what, request, SimStore::shown).thenApply(twin::seen);
    }

    private <T> CompletableFuture<T> write(String what, Supplier<@Nullable T> request) {
        return calls.<T>write(what, request, SimStore::shown).thenApply(twin::seen);
    }

    /** Shows which attempt of the candidate it is, not the rest of its nonce, which is another in each run. */
    private static String shown(Claim claim) {
        var nonce = claim.nonce();
        if (nonce.length() <= Twin.INSTANCE) {
            return claim.candidate() + " (no claim)";
        }
        var end = nonce.indexOf('.', Twin.INSTANCE + 1);
        return claim.candidate() + "#" + nonce.substring(Twin.INSTANCE + 1, end < 0 ? nonce.length() : end);
    }

    private static String shown(Lease lease) {
        return shown(lease.claim()) + " token " + lease.token() + " for " + lease.term();
    }

    private static String shown(@Nullable Object given) {
        if (given instanceof Answer answer) {
            return (answer.granted() ? "granted, " : "refused, ") + shown(answer.view());
        }
        if (given instanceof List<?> all) {
            return all.stream().map(SimStore::shown).collect(Collectors.joining("; "));
        }
        return given instanceof View view
                ? "token " + view.token()
                        + view.holder()
                                .map(holder -> " held by " + holder.candidate() + " for " + view.remaining())
                                .orElse(" vacant")
                        + (view.ended() ? ", ended" : "")
                        + (view.standDown() ? ", ordered to stand down" : "")
                : String.valueOf(given);
    }
}

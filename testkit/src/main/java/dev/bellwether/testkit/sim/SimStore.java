package dev.bellwether.testkit.sim;

import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The store as one process reaches it: through the network. A request without an answer stays open, or fails later. */
final class SimStore implements LeaseStore {
    private final World world;
    private final SimProcess process;

    SimStore(World world, SimProcess process) {
        this.world = world;
        this.process = process;
    }

    @Override
    public String describe() {
        return "simulated store";
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        return call(
                "claim " + shown(claim),
                () -> theirs().acquire(claim).toCompletableFuture().join());
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        var what = !world.trace().isOn()
                ? ""
                : "renewal " + leases.stream().map(SimStore::shown).toList();
        var given = call(
                what,
                () -> theirs().renew(leases).stream()
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
        return call(
                "release " + shown(claim),
                () -> theirs().release(claim).toCompletableFuture().join());
    }

    @Override
    public CompletionStage<View> read(String election) {
        return call(
                "read \"" + election + '"',
                () -> theirs().read(election).toCompletableFuture().join());
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        var remote = new RemoteWatch(election, watcher);
        world.network().request(process, "watch", remote::open);
        return remote;
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return call(
                "order " + order + " \"" + election + '"',
                () -> theirs().order(election, order).toCompletableFuture().join());
    }

    @Override
    public CompletionStage<List<String>> list() {
        return call("list", () -> theirs().list().toCompletableFuture().join());
    }

    @Override
    public void close() {
        world.server().disconnected(process);
    }

    private LeaseStore theirs() {
        return world.server().store();
    }

    private <T> CompletableFuture<T> call(String what, Supplier<T> request) {
        var answer = new CompletableFuture<T>();
        world.trace().line(process.name(), "sends " + what);
        world.network().request(process, what, () -> {
            var given = request.get();
            if (world.trace().isOn()) {
                world.trace().line("store", process.name() + "'s " + what + ": " + shown(given));
            }
            world.network()
                    .answer(process, "the answer to " + process.name() + "'s " + what, () -> answer.complete(given));
        });
        var timeout = world.weather().clientTimeoutNanos();
        if (timeout > 0) {
            world.agenda().in(timeout, () -> {
                if (!answer.isDone()) {
                    process.whenRunning(
                            () -> answer.completeExceptionally(new UnavailableException("no answer to " + what)));
                }
            });
        }
        return answer;
    }

    /** Shows which attempt of the candidate it is, not the rest of its nonce, which is another in each run. */
    private static String shown(Claim claim) {
        var attempt = claim.nonce().substring(claim.nonce().lastIndexOf('-') + 1);
        return claim.candidate() + (attempt.length() < 12 ? "#" + attempt : " (no claim)");
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

    /** A watch that the store learns of, and forgets, through the network. */
    private final class RemoteWatch implements Watch {
        private final String election;
        private final Consumer<View> watcher;
        private Watch there = Watch.NONE;
        private boolean closed;

        private RemoteWatch(String election, Consumer<View> watcher) {
            this.election = election;
            this.watcher = watcher;
        }

        private void open() {
            if (closed || process.isDead() || there != Watch.NONE) {
                return;
            }
            there = theirs().watch(
                            election,
                            view -> world.network().answer(process, "a notification to " + process.name(), () -> {
                                if (!closed) {
                                    watcher.accept(view);
                                }
                            }));
            world.server().watched(process, there);
        }

        @Override
        public void close() {
            closed = true;
            world.server().unwatched(process, there);
        }
    }
}

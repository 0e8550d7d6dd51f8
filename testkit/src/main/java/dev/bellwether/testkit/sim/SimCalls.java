package dev.bellwether.testkit.sim;

import dev.bellwether.UnavailableException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Requests of one process to the store, through the network. One without an answer stays open, or fails later. Confined
 * to the world.
 */
final class SimCalls {
    private final World world;
    private final SimProcess process;

    SimCalls(World world, SimProcess process) {
        this.world = world;
        this.process = process;
    }

    /** Has the store carry this out, once or more often, and returns the answer that comes first. */
    <T> CompletableFuture<T> call(String what, Supplier<T> request, Function<? super T, String> shown) {
        return call(what, world.weather().clientTimeoutNanos(), request, shown);
    }

    /** The same, of what writes: it waits until nothing is undecided. */
    <T> CompletableFuture<T> write(String what, Supplier<@Nullable T> request, Function<? super T, String> shown) {
        return call(what, world.weather().clientTimeoutNanos(), request, shown, world.server()::whenDecided);
    }

    /** The same, waiting so long for an answer; forever, if that is no time at all. */
    <T> CompletableFuture<T> call(String what, long timeout, Supplier<T> request, Function<? super T, String> shown) {
        return call(what, timeout, request, shown, Runnable::run);
    }

    private <T> CompletableFuture<T> call(
            String what,
            long timeout,
            Supplier<@Nullable T> request,
            Function<? super T, String> shown,
            Consumer<Runnable> turn) {
        process.mayThrow(what);
        var answer = new CompletableFuture<T>();
        world.trace().line(process.name(), "sends " + what);
        world.network()
                .request(
                        process,
                        what,
                        () -> turn.accept(() -> {
                            var given = request.get();
                            if (given == null) {
                                return; // no answer
                            }
                            if (world.trace().isOn()) {
                                world.trace().line("store", process.name() + "'s " + what + ": " + shown.apply(given));
                            }
                            world.network()
                                    .answer(
                                            process,
                                            "the answer to " + process.name() + "'s " + what,
                                            () -> answer.complete(given));
                        }));
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
}

package dev.bellwether.zookeeper;

import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of one election as one candidacy reaches them: their full paths, and requests in its session, whose answers
 * come on the loop.
 *
 * <p>Immutable.
 */
final class Nodes {
    private final SeatSession session;
    private final Loop loop;
    private final String election;
    private final Consumer<Throwable> onFault;

    /** Tells of whatever a turn throws: what it was to do is not done. */
    Nodes(SeatSession session, Loop loop, String election, Consumer<Throwable> onFault) {
        this.session = session;
        this.loop = loop;
        this.election = election;
        this.onFault = onFault;
    }

    String election() {
        return election;
    }

    String candidate(String name) {
        return election + '/' + name;
    }

    String done() {
        return election + '/' + Paths.DONE;
    }

    String standDown() {
        return election + '/' + Paths.STAND_DOWN;
    }

    SeatSession session() {
        return session;
    }

    SingleRequests requests() {
        return session.requests();
    }

    PathWatches watches() {
        return session.watches();
    }

    /** Takes this turn when the answer is there: with the value, or with the error. */
    <T> void then(CompletableFuture<T> request, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        SingleRequests.whenDone(request, (value, error) -> post(() -> turn.accept(value, error)));
    }

    /** Takes this turn when so much time has passed. */
    Loop.Timer after(Duration time, Runnable turn) {
        return loop.at(loop.clock().nanos() + time.toNanos(), guarded(turn));
    }

    /** Returns what takes this turn on the loop, from whatever thread it is run. */
    Runnable onLoop(Runnable turn) {
        return () -> post(turn);
    }

    /**
     * Returns the turn such that nothing comes out of it: whoever stands must hear of what it throws, or would wait for
     * ever.
     */
    Runnable guarded(Runnable turn) {
        return () -> {
            try {
                turn.run();
            } catch (Throwable fault) { // whatever it is
                onFault.accept(fault);
            }
        };
    }

    private void post(Runnable turn) {
        try {
            loop.execute(guarded(turn));
        } catch (Throwable fault) { // on the client's thread, for want of memory: the turn is lost
            loop.execute(() -> onFault.accept(fault));
        }
    }
}

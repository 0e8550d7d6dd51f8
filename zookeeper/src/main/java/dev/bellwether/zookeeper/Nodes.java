package dev.bellwether.zookeeper;

import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of one election as one candidacy reaches them: their full paths, and requests in its session, whose answers come on the
 * loop.
 *
 * <p>Immutable.
 */
final class Nodes {
    private final Session session;
    private final Loop loop;
    private final String election;

    Nodes(Session session, Loop loop, String election) {
        this.session = session;
        this.loop = loop;
        this.election = election;
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

    Session session() {
        return session;
    }

    Requests requests() {
        return session.requests();
    }

    Watches watches() {
        return session.watches();
    }

    /** Takes this turn when the answer is there: with the value, or with the error. */
    <T> void then(CompletableFuture<T> request, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        Requests.whenDone(request, (value, error) -> loop.execute(() -> turn.accept(value, error)));
    }

    /** Takes this turn when so much time has passed. */
    Loop.Timer after(Duration time, Runnable turn) {
        return loop.at(loop.clock().nanos() + time.toNanos(), turn);
    }

    /** Returns what takes this turn on the loop, from whatever thread it is run. */
    Runnable onLoop(Runnable turn) {
        return () -> loop.execute(turn);
    }
}

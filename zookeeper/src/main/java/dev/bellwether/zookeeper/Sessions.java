package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.DelayThread;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;

/**
 * Where candidacies find the session that their nodes live in. Thread-safe.
 *
 * <p>Of our own there is one per length of lease: the session's timeout is the lease, so that a crash costs a lease,
 * however many elections there are and whatever the leases of the others. One that nobody uses for a while is closed.
 * Of a client that somebody lent us there is one for all.
 */
final class Sessions implements AutoCloseable {
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(2);
    /** For how long a session that nobody uses is kept: the next may want it. */
    private static final Duration LINGERING = Duration.ofSeconds(10);

    private static final Executor LATER = DelayThread.after(LINGERING);

    /** Each session says good-bye to its server, which takes long if that does not answer; then it runs out. */
    static final Executor CLOSERS = closing -> {
        var closer = new Thread(closing, "bellwether-zookeeper-close");
        closer.setDaemon(true);
        closer.start();
    };

    private final Function<Duration, SeatSession> opener;
    private final Executor closers;
    private final Map<Duration, Used> open = new HashMap<>();
    private boolean closed;

    /** A session, and by how many it is used; guarded by the sessions. */
    private static final class Used {
        private final SeatSession session;
        private int users;

        private Used(SeatSession session) {
            this.session = session;
        }
    }

    private Sessions(Function<Duration, SeatSession> opener, Executor closers) {
        this.opener = opener;
        this.closers = closers;
    }

    /** Returns sessions of our own, over clients that are made for a length of lease. */
    static Sessions own(Function<Duration, CuratorFramework> clients, Duration tick, String where) {
        return own(clients, tick, where, CLOSERS);
    }

    static Sessions own(Function<Duration, CuratorFramework> clients, Duration tick, String where, Executor closers) {
        return new Sessions(lease -> SeatSession.open(clients.apply(lease), tick, where), closers);
    }

    /** Returns the one session of a client that somebody lent us, for leases of every length that it can hold. */
    static Sessions lent(SeatSession session) {
        return new Sessions(lease -> session, CLOSERS);
    }

    /** Returns the one that observers and operators use, until all are closed. */
    SeatSession main() {
        return take(CandidacyConfig.defaults().lease());
    }

    /**
     * Returns one for candidacies with a lease of this length, opening it if need be; it stays until it is given back
     * as often.
     */
    synchronized SeatSession take(Duration lease) {
        if (closed) {
            throw new IllegalStateException("the elections on ZooKeeper are closed");
        }
        var used = open.computeIfAbsent(lease, length -> new Used(opener.apply(length)));
        used.users++;
        return used.session;
    }

    /** Does this with the session for a lease, and gives it back. */
    <T> T with(Duration lease, Function<SeatSession, T> use) {
        var session = take(lease);
        try {
            return use.apply(session);
        } finally {
            giveBack(lease);
        }
    }

    /** The session for this lease is not needed any more by somebody who has taken it. */
    synchronized void giveBack(Duration lease) {
        var used = open.get(lease);
        if (used != null && --used.users == 0) {
            LATER.execute(() -> closeIfUnused(lease, used));
        }
    }

    private void closeIfUnused(Duration lease, Used used) {
        synchronized (this) {
            if (closed || used.users > 0 || !open.remove(lease, used)) {
                return;
            }
        }
        if (used.session.isOurs()) {
            closeBehindUs(used.session);
        }
    }

    /** Where there is no thread for that, later: the thread for delays must not wait. */
    private void closeBehindUs(SeatSession session) {
        try {
            closers.execute(session::close);
        } catch (Throwable e) {
            LATER.execute(() -> closeBehindUs(session));
        }
    }

    /**
     * Closes all at a time, and waits for all together no longer than for one; what is not closed by then closes behind
     * us.
     */
    @Override
    public void close() {
        List<SeatSession> all;
        synchronized (this) {
            closed = true;
            all = open.values().stream().map(used -> used.session).distinct().toList();
            open.clear();
        }
        CompletableFuture.allOf(all.stream().map(this::closing).toArray(CompletableFuture[]::new))
                .completeOnTimeout(null, CLOSE_PATIENCE.toNanos(), TimeUnit.NANOSECONDS)
                .join(); // a closer that is interrupted must not leave sessions that others wait for
    }

    /** Where there is no thread for that, here: nobody closes it later. */
    private CompletableFuture<Void> closing(SeatSession session) {
        try {
            return CompletableFuture.runAsync(session::close, closers);
        } catch (Throwable e) {
            return CompletableFuture.runAsync(session::close, Runnable::run); // if that fails, the others are closed
        }
    }
}

package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
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
 * Sessions of our own, one per length of lease: the session's timeout is the lease, so that a crash costs a lease,
 * however many elections there are and whatever the leases of the others. One that nobody uses for a while is closed.
 * Thread-safe.
 */
final class OwnSessions implements Sessions {
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(2);
    /** For how long a session that nobody uses is kept: the next may want it. */
    private static final Duration LINGERING = Duration.ofSeconds(10);

    private static final Executor LATER =
            CompletableFuture.delayedExecutor(LINGERING.toMillis(), TimeUnit.MILLISECONDS, Runnable::run);

    private final Function<Duration, CuratorFramework> clients;
    private final Duration tick;
    private final String where;
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

    OwnSessions(Function<Duration, CuratorFramework> clients, Duration tick, String where) {
        this.clients = clients;
        this.tick = tick;
        this.where = where;
    }

    /** Used by us until we close. */
    @Override
    public SeatSession main() {
        return take(CandidacyConfig.defaults().lease());
    }

    @Override
    public synchronized SeatSession take(Duration lease) {
        if (closed) {
            throw new IllegalStateException("the elections on " + where + " are closed");
        }
        var used =
                open.computeIfAbsent(lease, length -> new Used(SeatSession.open(clients.apply(length), tick, where)));
        used.users++;
        return used.session;
    }

    @Override
    public synchronized void giveBack(Duration lease) {
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
        closer(used.session);
    }

    /** Returns how many are open. */
    synchronized int size() {
        return open.size();
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
            all = open.values().stream().map(used -> used.session).toList();
            open.clear();
        }
        var closers = all.stream().map(OwnSessions::closer).toList();
        var until = System.nanoTime() + CLOSE_PATIENCE.toNanos();
        var interrupted = false;
        for (var closer : closers) {
            interrupted |= joinUninterruptibly(closer, until);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Who closes while interrupted must not leave sessions behind that others then wait for. */
    private static boolean joinUninterruptibly(Thread closer, long untilNanos) {
        var interrupted = false;
        while (closer.isAlive()) {
            var left = untilNanos - System.nanoTime();
            if (left <= 0) {
                break;
            }
            try {
                TimeUnit.NANOSECONDS.timedJoin(closer, left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        return interrupted;
    }

    /** Each says good-bye to its server, which takes long if that does not answer; then the session runs out. */
    private static Thread closer(SeatSession session) {
        var closer = new Thread(session::close, "bellwether-zookeeper-close");
        closer.setDaemon(true);
        closer.start();
        return closer;
    }
}

package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;

/**
 * Sessions of our own, one per length of lease: the session's timeout is the lease, so that a crash costs a lease, however many
 * elections there are and whatever the leases of the others. Thread-safe.
 */
final class OwnSessions implements Sessions {
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(2);

    private final Function<Duration, CuratorFramework> clients;
    private final Duration tick;
    private final String where;
    private final Map<Duration, Session> open = new HashMap<>();
    private boolean closed;

    OwnSessions(Function<Duration, CuratorFramework> clients, Duration tick, String where) {
        this.clients = clients;
        this.tick = tick;
        this.where = where;
    }

    @Override
    public Session main() {
        return holding(CandidacyConfig.defaults().lease());
    }

    @Override
    public synchronized Session holding(Duration lease) {
        if (closed) {
            throw new IllegalStateException("the elections on " + where + " are closed");
        }
        return open.computeIfAbsent(lease, length -> Session.open(clients.apply(length), tick, where));
    }

    @Override
    public void close() {
        List<Session> all;
        synchronized (this) {
            closed = true;
            all = List.copyOf(open.values());
            open.clear();
        }
        var closers = all.stream().map(OwnSessions::closer).toList();
        try {
            for (var closer : closers) {
                closer.join(CLOSE_PATIENCE.toMillis());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Each says good-bye to its server, which takes long if that does not answer; then the session runs out. */
    private static Thread closer(Session session) {
        var closer = new Thread(session::close, "bellwether-zookeeper-close");
        closer.setDaemon(true);
        closer.start();
        return closer;
    }
}

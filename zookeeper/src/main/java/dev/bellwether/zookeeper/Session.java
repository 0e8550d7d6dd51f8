package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorEventType;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client of ZooKeeper with its session, or with one after another when they expire; and the seats whose nodes live in it.
 *
 * <p>What concerns seats is confined to the loop; the rest is thread-safe.
 */
final class Session implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Session.class);

    private final Client client;
    private final boolean ours;
    private final @Nullable Moment opened;
    private final Requests requests;
    private final Watches watches;
    private final Proving proving;
    private final String where;
    private final CuratorListener listener = (framework, event) -> happened(event);
    /** How often a connection was lost: if this is the same before and after, both happened on one connection. */
    private final AtomicLong breaks = new AtomicLong();
    /** How many sessions have expired. */
    private final AtomicLong generation = new AtomicLong();
    /** The session of the last connection; 0 before the first, and after an end that we were told of. */
    private final AtomicLong known = new AtomicLong();

    private final CountDownLatch connectedOnce = new CountDownLatch(1);
    private final Set<QueueSeat> seats = new LinkedHashSet<>();
    private final Set<Runnable> onConnect = ConcurrentHashMap.newKeySet();
    private volatile @Nullable Loop loop;
    private volatile boolean closed;
    /** The longest that any mandate in this session can last without a proof. */
    private volatile Duration longest = Duration.ofSeconds(1);

    private Session(CuratorFramework framework, boolean ours, @Nullable Moment opened, Duration tick, String where) {
        client = new Client(framework);
        this.ours = ours;
        this.opened = opened;
        this.where = where;
        requests = new Requests(client::zooKeeper);
        watches = new Watches(requests);
        proving = new Proving(this, tick);
        client.framework().getCuratorListenable().addListener(listener);
    }

    /** Takes a client that somebody else has started and will close. */
    static Session borrowed(CuratorFramework framework, Duration tick, String where) {
        if (framework.getState() != CuratorFrameworkState.STARTED) {
            throw new ElectionException("the CuratorFramework is " + framework.getState() + ": start it first");
        }
        var session = new Session(framework, false, null, tick, where);
        if (session.client.isConnected()) {
            session.known.compareAndSet(0, session.client.sessionId());
            session.longest = session.client.timeout();
            session.connectedOnce.countDown();
        }
        return session;
    }

    /** Starts a client of our own. */
    static Session open(CuratorFramework framework, Duration tick, String where) {
        var session = new Session(framework, true, Clock.system().now(), tick, where);
        framework.start();
        return session;
    }

    /** Waits for the first connection; returns whether there has been one. */
    boolean awaitConnected(Duration patience) {
        try {
            return connectedOnce.await(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    // ---------------------------------------------------------------- asked by anybody

    String where() {
        return where;
    }

    Client client() {
        return client;
    }

    Requests requests() {
        return requests;
    }

    Watches watches() {
        return watches;
    }

    /** Returns how many sessions of this client have expired; what was created before that is gone. */
    long generation() {
        return generation.get();
    }

    /** Returns how many connections were lost. */
    long breaks() {
        return breaks.get();
    }

    /** Returns whether it is ours, and ends when we close it. */
    boolean isOurs() {
        return ours;
    }

    /** Returns why a lease cannot be held here, as far as is known. */
    Optional<ElectionException> refusal(CandidacyConfig config) {
        var timeout = client.timeout();
        if (client.isReadOnly()) {
            return Optional.of(new ElectionException(where
                    + " is read-only: the server has lost its ensemble, and nobody can stand there; connect to one that has"
                    + " not, and do without canBeReadOnly"));
        }
        if (timeout.isZero() || config.lease().compareTo(timeout) <= 0) {
            return Optional.empty();
        }
        return Optional.of(new ElectionException(
                "the lease is %d ms, but the session with %s was negotiated to %d ms: lower the lease, or %s"
                        .formatted(
                                config.lease().toMillis(),
                                where,
                                timeout.toMillis(),
                                ours
                                        ? "raise maxSessionTimeout on the servers"
                                        : "give the CuratorFramework a longer session timeout, and the servers if need be a higher"
                                                + " maxSessionTimeout")));
    }

    /** Does this whenever a connection has been made, until it is taken back. */
    void onConnect(Runnable action) {
        onConnect.add(action);
    }

    /** Takes it back. */
    void offConnect(Runnable action) {
        onConnect.remove(action);
        if (closed && onConnect.isEmpty()) {
            client.framework().getCuratorListenable().removeListener(listener);
        }
    }

    // ---------------------------------------------------------------- seats, on the loop

    void enter(QueueSeat seat, Loop loop) {
        this.loop = loop;
        seats.add(seat);
        proving.entered(loop);
    }

    void exit(QueueSeat seat) {
        seats.remove(seat);
    }

    List<QueueSeat> seats() {
        return List.copyOf(seats);
    }

    /** Returns the last proof that this session lives, if it is recent. */
    Optional<Proof> proof(Duration youngerThan) {
        return proving.last(youngerThan);
    }

    /** Proves anew, now; seats will be told. */
    void prove() {
        proving.now();
    }

    /** Returns when the session began that is still the first, if that was ours to know. */
    Optional<Moment> opened() {
        return generation() == 0 ? Optional.ofNullable(opened) : Optional.empty();
    }

    // ---------------------------------------------------------------- what happens to the client

    /** Called on the client's event thread, in order with the answers to our requests. */
    private void happened(CuratorEvent event) {
        if (event.getType() == CuratorEventType.CLOSING) {
            known.set(0);
            ended();
            return;
        }
        var watched = event.getWatchedEvent();
        if (event.getType() != CuratorEventType.WATCHED || watched == null || watched.getType() != EventType.None) {
            return;
        }
        switch (watched.getState()) {
            case Disconnected, Closed -> breaks.incrementAndGet();
            case SyncConnected, SaslAuthenticated -> {
                var id = client.sessionId();
                var before = known.getAndSet(id);
                if (before != 0 && before != id) {
                    ended(); // Curator has made a new client without a word
                }
                longest = client.timeout();
                connectedOnce.countDown();
                onLoop(() -> {
                    proving.connected();
                    seats().forEach(QueueSeat::connected);
                });
                List.copyOf(onConnect).forEach(Runnable::run);
            }
            case ConnectedReadOnly -> {
                connectedOnce.countDown();
                breaks.incrementAndGet();
            }
            case Expired -> {
                known.set(0);
                ended();
            }
            case AuthFailed -> {
                var error = new ElectionException(
                        "refused by " + where + ": authentication failed; correct the credentials");
                onLoop(() -> seats().forEach(seat -> seat.failed(error)));
            }
            default -> {}
        }
    }

    /**
     * The session is no more, and so are its nodes; or it is about to be, since whoever lent us the client closes it. The servers free
     * the seats as soon as they hear of that, so that nobody here must lead by then: we wait for the loop; if it does not run, until
     * no mandate can be left. When Curator itself believes in an expiry, it has been without a connection for as long as the session
     * lives, and every mandate has run out.
     */
    private void ended() {
        breaks.incrementAndGet();
        generation.incrementAndGet();
        var told = new CountDownLatch(1);
        onLoop(() -> {
            seats().forEach(QueueSeat::expired);
            onLoop(told::countDown); // behind what the seats have reported
        });
        try {
            if (loop != null && !closed && !told.await(longest.toNanos(), TimeUnit.NANOSECONDS)) {
                log.warn("the session with {} has ended, and the loop does not run", where);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void onLoop(Runnable turn) {
        var present = loop;
        if (present != null) {
            present.execute(turn);
        }
    }

    /** Closes a client of our own, and with it the session; of one that was lent to us, only takes our listener away. */
    @Override
    public void close() {
        closed = true;
        if (ours || onConnect.isEmpty()) { // else somebody is still clearing up
            client.framework().getCuratorListenable().removeListener(listener);
        }
        if (ours) {
            client.framework().close();
        }
    }
}

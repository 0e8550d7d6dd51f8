package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Interrupts;
import dev.bellwether.spi.Moment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
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
 * A client of ZooKeeper with its session, or with one after another when they expire: hears of connections, and of the
 * end of sessions, and tells the seats.
 *
 * <p>Thread-safe.
 */
final class SeatSession implements NodeSession, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(SeatSession.class);

    private static final Duration REVIVAL = Duration.ofSeconds(1);
    private static final Executor SOON = DelayThread.after(REVIVAL);
    private static final long PROBE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Client client;
    private final boolean ours;
    private final String where;
    private final NodeRequests requests;
    private final PathWatches watches;
    private final SessionProver prover;
    private final CuratorListener listener = (framework, event) -> happened(event);
    private final AtomicLong breaks = new AtomicLong();
    private final AtomicLong generation = new AtomicLong();
    /** The session of the last connection; 0 before the first, and after an end that we were told of. */
    private final AtomicLong known = new AtomicLong();

    private final CountDownLatch connectedOnce = new CountDownLatch(1);
    private final Set<Runnable> onConnect = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean toldDeaf = new AtomicBoolean(); // for one that we cannot replace
    private final AtomicLong probedNanos = new AtomicLong(System.nanoTime() - PROBE_NANOS);
    private volatile boolean closed;
    /** The longest that any mandate in this session can last without a proof. */
    private volatile Duration longest = Duration.ofSeconds(1);

    private SeatSession(
            CuratorFramework framework, boolean ours, @Nullable Moment opened, Duration tick, String where) {
        client = new Client(framework);
        this.ours = ours;
        this.where = where;
        requests = new SingleRequests(client, this::deaf);
        watches = new PathWatches(requests);
        prover = new SessionProver(this, new ProofTiming(tick), opened);
        client.framework().getCuratorListenable().addListener(listener);
    }

    /** Takes a client that somebody else has started and will close. */
    static SeatSession borrowed(CuratorFramework framework, Duration tick, String where) {
        if (framework.getState() != CuratorFrameworkState.STARTED) {
            throw new ElectionException("the CuratorFramework is " + framework.getState() + ": start it first");
        }
        var session = new SeatSession(framework, false, null, tick, where);
        if (session.client.isConnected()) {
            session.known.compareAndSet(0, session.client.sessionId());
            session.longest = session.client.timeout();
            session.connectedOnce.countDown();
        }
        return session;
    }

    /** Starts a client of our own. */
    static SeatSession open(CuratorFramework framework, Duration tick, String where) {
        var session = new SeatSession(framework, true, Clock.system().now(), tick, where);
        try {
            framework.start();
        } catch (RuntimeException | Error e) { // the last finds no thread
            session.close();
            throw e;
        }
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

    Client client() {
        return client;
    }

    /** Returns who proves that it lives, to the seats in it. */
    SessionProver prover() {
        return prover;
    }

    /** Returns whether it is ours, and ends when we close it. */
    boolean isOurs() {
        return ours;
    }

    @Override
    public State state() {
        var expired = generation.get(); // first: a session that is newer than this is recognised
        return new State(client.sessionId(), expired, breaks.get(), client.timeout());
    }

    @Override
    public NodeRequests requests() {
        return requests;
    }

    @Override
    public PathWatches watches() {
        return watches;
    }

    @Override
    public String where() {
        return where;
    }

    @Override
    public Optional<ElectionException> refusal(CandidacyConfig config) {
        var timeout = client.timeout();
        if (client.isReadOnly()) {
            return Optional.of(new ElectionException(where
                    + " is read-only: the server has lost its ensemble, and nobody can stand there; connect to one"
                    + " that has not, and do not set canBeReadOnly"));
        }
        // no timeout has parts of a millisecond, and no mandate is longer than that
        if (timeout.isZero() || config.lease().toMillis() <= timeout.toMillis()) {
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
                                        : "give the CuratorFramework a longer session timeout, and the servers if"
                                                + " need be a higher maxSessionTimeout")));
    }

    @Override
    public void onConnect(Runnable action) {
        onConnect.add(action);
    }

    @Override
    public void offConnect(Runnable action) {
        onConnect.remove(action);
        if (closed && onConnect.isEmpty()) {
            client.framework().getCuratorListenable().removeListener(listener);
        }
    }

    @Override
    public void soon(Runnable action) {
        SOON.execute(action);
    }

    @Override
    public void probe() {
        var now = System.nanoTime();
        var last = probedNanos.get();
        if (now - last >= PROBE_NANOS && probedNanos.compareAndSet(last, now)) {
            NodeRequests.whenDone(requests.exists("/", null), (stat, error) -> {});
        }
    }

    // ---------------------------------------------------------------- what happens to the client

    /** Called on the client's event thread, in order with the answers to our requests. */
    private void happened(CuratorEvent event) {
        if (event.getType() == CuratorEventType.CLOSING) {
            ended(known.getAndSet(0));
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
                    ended(before); // Curator has made a new client silently
                }
                longest = client.timeout();
                connectedOnce.countDown();
                prover.onLoop(prover::connected);
                List.copyOf(onConnect).forEach(Runnable::run);
            }
            case ConnectedReadOnly -> {
                connectedOnce.countDown();
                breaks.incrementAndGet();
            }
            case Expired -> {
                var before = known.get();
                // Curator makes the next client before it tells us: that one's session may be known by now, and lives
                if ((before == 0 || before != client.sessionId()) && known.compareAndSet(before, 0)) {
                    ended(before);
                }
            }
            case AuthFailed -> {
                // Also told, at each attempt to connect, where a JAAS file is in force that has no section for us: then
                // the client
                // goes on without SASL, and so do we. Only a client that was refused has given up.
                if (client.wasRefused()) {
                    var error = ZooKeeperErrors.authenticationFailed(where);
                    prover.onLoop(() -> prover.each(seat -> seat.refused(error)));
                    SOON.execute(this::revive);
                }
            }
            default -> {}
        }
    }

    /**
     * Has Curator make a new client, in place of one that gave up when its credentials were refused, and would never
     * ask again: they may be taken by now. Nothing is lost by it: the session of the old one is out of reach, and its
     * mandates run out.
     */
    private void revive() {
        if (closed || !client.wasRefused()) {
            return;
        }
        try {
            client.framework().getZookeeperClient().reset();
        } catch (Exception e) {
            log.warn(
                    "Cannot make a new client for {} after it refused our credentials: {}. Nobody here can be"
                            + " elected until there is one. Trying again in {} s",
                    where,
                    e,
                    REVIVAL.toSeconds());
            SOON.execute(this::revive);
        }
    }

    /**
     * The client hears no answer. One of our own is replaced, which ends its session: a seat in it is led by nobody,
     * since all its mandates have run out.
     */
    private void deaf() {
        if (closed || toldDeaf.getAndSet(!ours)) {
            return;
        }
        log.warn(
                "The client of {} hears nothing: something in this process may have interrupted its event thread,"
                        + " which ends it. {}",
                where,
                ours
                        ? "It is replaced"
                        : "Nobody can be elected over it, and it keeps the seats that it has: close it, and make"
                                + " another CuratorFramework");
        if (ours) {
            Sessions.CLOSERS.execute(this::replace); // it says good-bye to its server
        }
    }

    private void replace() {
        try {
            client.framework().getZookeeperClient().reset();
        } catch (Exception e) {
            log.warn("Cannot make a new client for {}: {}. Trying again, while it hears nothing", where, e);
        }
    }

    /**
     * The session is no more, and so are its nodes; or it is about to be, since anybody who lent us the client closes
     * it. The servers free the seats as soon as they hear of that, so that nobody here must lead by then: we wait for
     * the loop; if it does not run, until no mandate can be left. When Curator itself believes in an expiry, it has
     * been without a connection for as long as the session lives, and every mandate has run out.
     */
    private void ended(long session) {
        breaks.incrementAndGet();
        generation.incrementAndGet();
        OwnNode.forget(session);
        var told = new CountDownLatch(1);
        var loops = prover.onLoop(() -> {
            prover.each(SessionSeat::expired);
            prover.onLoop(told::countDown); // behind what the seats have reported
        });
        // also on an interrupted thread, as that of an application may be which closes the client
        if (loops && !closed && !Interrupts.await(told, System.nanoTime() + longest.toNanos())) {
            log.warn("the session with {} has ended, and the loop does not run", where);
        }
    }

    /**
     * Closes a client of our own, and with it the session; of one that was lent to us, only takes our listener away.
     */
    @Override
    public void close() {
        closed = true;
        if (ours || onConnect.isEmpty()) { // else somebody is still clearing up
            client.framework().getCuratorListenable().removeListener(listener);
        }
        if (ours) {
            var session = known.get();
            client.framework().close();
            OwnNode.forget(session);
        }
    }
}

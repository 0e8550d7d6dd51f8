package dev.bellwether.sql;

import dev.bellwether.spi.BackendThread;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears what is announced, over a connection of its own on a thread of its own.
 *
 * <p>All methods are for any thread. Announcements are told as they come; one that was made while there was no
 * connection is lost, so their users must look themselves once it is there again.
 */
final class PostgresListener {
    /*
     * A pooler between us and the server may accept LISTEN and never deliver. So we believe only what we have seen:
     * after LISTEN, a probe is sent over the other connection, and must arrive. A pooler that was seen to share
     * sessions is not told to LISTEN at all, since that would stay behind in the session of others. The same goes on
     * later, without a statement more: who announces must hear it (see Echo), and tells lookAfter() that it did not. A
     * connection on which nothing comes is asked now and then whether it lives, by an empty message that costs the
     * database nothing.
     *
     * Where the network falls silent within a message, the driver waits for the rest of it without a limit. So the
     * thread of the statements breaks a connection off on which ours hangs, also before anything could be missed.
     *
     * A borrowed connection is given up when statements have to wait for one: they are what leases live on. But not
     * when the server is silent: then nobody is lent one, even if another is given up.
     */
    private static final Logger log = LoggerFactory.getLogger(PostgresListener.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final int NAP_MILLIS = 500;
    private static final int PROBE_MILLIS = 2_000;
    private static final int SHARED_TRIES = 5;
    /** So many probes in a row must be missed: on a machine that is held up, one may be late. */
    private static final int MOST_UNHEARD = 3;

    private static final long PULSE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long MOST_RETRY_NANOS = TimeUnit.SECONDS.toNanos(8);
    private static final long POOLED_RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Longer than a message takes to arrive when it has begun to, and the thread to notice. */
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long WAKE_MILLIS = 1_000;
    private static final long CLOSE_MILLIS = 2_000;

    private final Source source;
    private final String channel;
    private final String announcer;
    private final Receiver receiver;
    private final String name = "bellwether-sql-listen-" + SERIAL.incrementAndGet();
    private @Nullable Thread thread; // guarded by this
    private volatile @Nullable Connection connection;
    private volatile @Nullable Connection aborted;
    private volatile boolean closed;
    private volatile boolean suspect;
    private volatile @Nullable Long hearingSinceNanos;

    // the thread's own
    private boolean probed;
    private boolean warned;
    private int failures;
    private int unheard;

    /** What the listener serves. */
    interface Receiver {
        /** Sends a probe over another connection. Returns which process of the server has sent it. */
        CompletionStage<Integer> probe();

        /** It is certain from now on that announcements arrive; earlier ones may have been missed. */
        void listening();

        /** Announcements do not arrive. */
        void silenced();

        /** Something arrived that was announced in our name. */
        void echo();

        /** Returns whether statements wait for a connection. */
        boolean starves();

        /** One came. */
        void heard(PostgresSeats.Announcement announcement);
    }

    /** Listens for what is announced, in our name among others. */
    PostgresListener(Source source, String channel, String announcer, Receiver receiver) {
        this.source = source;
        this.channel = channel;
        this.announcer = announcer;
        this.receiver = receiver;
    }

    /** Begins to listen, unless it does so already, or was closed. */
    synchronized void start() {
        if (!closed && thread == null) {
            launch();
        }
    }

    private synchronized void launch() {
        if (!closed) {
            var next = BackendThread.of(name, this::run, this::died);
            next.start(); // throws if there is no thread: the next to come tries again
            thread = next;
        }
    }

    /** Nobody relies on announcements until another thread hears them. */
    private void died(Throwable death) {
        connection = null;
        receiver.silenced();
        BackendThread.pause(RETRY_NANOS);
        launch();
    }

    /**
     * Connects again if the thread hangs, or if what we announced has not arrived.
     *
     * @param missed whether it has not
     */
    void lookAfter(boolean missed) {
        if (missed) {
            suspect = true;
        }
        var since = hearingSinceNanos;
        if (since != null && System.nanoTime() - since > STUCK_NANOS) {
            abort();
        }
    }

    void close() {
        Thread running;
        synchronized (this) {
            closed = true;
            running = thread;
        }
        if (running == null) {
            return;
        }
        LockSupport.unpark(running);
        if (!RequestQueue.joined(running, WAKE_MILLIS)) {
            abort();
            RequestQueue.joined(running, CLOSE_MILLIS);
        }
    }

    private void abort() {
        var current = connection;
        if (current != null) {
            aborted = current;
            try {
                current.abort(Runnable::run);
            } catch (SQLException | RuntimeException | AbstractMethodError e) { // a pool's, on any thread
                log.debug("could not abort the listening connection to {}", source, e);
            }
        }
    }

    private void run() {
        while (!closed) {
            var retryNanos = 0L;
            try (var opened = source.open(Duration.ofMillis(PROBE_MILLIS))) {
                connection = opened;
                retryNanos = listen(opened);
            } catch (SQLException e) {
                log.debug("not listening to {}: {}", source, source.redact(String.valueOf(e.getMessage())));
            } catch (RuntimeException e) {
                log.error("a fault in listening to {}", source, e);
            }
            connection = null;
            receiver.silenced();
            if (!closed) {
                BackendThread.pause(retryNanos > 0 ? retryNanos : backoff());
            }
        }
    }

    /** Anybody who is refused comes back later and later, and not all at once. */
    private long backoff() {
        failures = Math.min(failures + 1, 16);
        return SqlConnection.jittered(Math.min(MOST_RETRY_NANOS, RETRY_NANOS << (failures - 1)));
    }

    /** Listens until the connection breaks. Returns how long to wait before the next try. */
    private long listen(Connection opened) throws SQLException {
        var before = SqlConnection.limit(opened, PROBE_MILLIS);
        var committed = SqlConnection.commitByItself(opened);
        try {
            if (!LockLimit.isOfPostgres(opened)) {
                warn(
                        "because the driver is not PostgreSQL's own",
                        "Take org.postgresql:postgresql, or set listen to false");
                return POOLED_RETRY_NANOS;
            }
            var notifications = opened.unwrap(PGConnection.class);
            if (isShared(opened)) {
                warnOfPooler();
                return POOLED_RETRY_NANOS;
            }
            try (var statement = opened.createStatement()) {
                statement.execute("LISTEN " + channel);
            }
            probed = false;
            var sent = receiver.probe().toCompletableFuture();
            var deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PROBE_MILLIS);
            while (!closed && !probed && System.nanoTime() - deadline < 0) {
                hear(notifications);
                if (gaveUp(opened)) {
                    return POOLED_RETRY_NANOS;
                }
            }
            if (!probed && !closed) {
                if (sent.isDone() && !sent.isCompletedExceptionally()) { // else it is the statements that are late
                    unheard++;
                }
                if (unheard < MOST_UNHEARD) {
                    return 0;
                }
                warnOfPooler();
                return POOLED_RETRY_NANOS;
            }
            warned = false;
            failures = 0;
            unheard = 0;
            suspect = false;
            receiver.listening();
            var heard = System.nanoTime();
            while (!closed) {
                if (hear(notifications)) {
                    heard = System.nanoTime();
                } else if (System.nanoTime() - heard > PULSE_NANOS) {
                    requireAlive(opened);
                    heard = System.nanoTime();
                }
                if (gaveUp(opened)) {
                    return POOLED_RETRY_NANOS;
                }
                if (suspect) {
                    log.warn(
                            "A notice that was sent on {} did not arrive here within {} ms. Connecting again",
                            source,
                            1_000);
                    return 0;
                }
            }
        } finally {
            leave(opened, before, committed);
        }
        return 0;
    }

    private void warnOfPooler() {
        warn("perhaps because of a pooler that shares connections between clients", "Give a direct address");
    }

    private void warn(String why, String remedy) {
        if (!warned) {
            warned = true;
            log.warn(
                    "Notices on {} do not arrive, {}. Polling instead: a hand-over takes longer. {}",
                    source,
                    why,
                    remedy);
        }
    }

    /** Returns whether a pooler was seen to serve this connection and that of the statements by one session. */
    private boolean isShared(Connection opened) throws SQLException {
        if (!Pooler.isBetween(opened)) {
            return false;
        }
        var first = Pooler.process(opened);
        for (var i = 0; i < SHARED_TRIES && !closed; i++) {
            try {
                var theirs = receiver.probe().toCompletableFuture().get(PROBE_MILLIS, TimeUnit.MILLISECONDS);
                if (theirs == first || Pooler.process(opened) != first) {
                    return true;
                }
            } catch (ExecutionException | TimeoutException e) {
                return false; // the probe that follows decides
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return false;
    }

    private boolean gaveUp(Connection opened) throws SQLException {
        if (source.isOurs() || !receiver.starves()) {
            return false;
        }
        requireAlive(opened);
        if (!receiver.starves()) {
            return false;
        }
        log.warn(
                "{} has no connection to spare for LISTEN. Polling instead: a hand-over takes longer. Give the pool two"
                        + " connections for elections",
                source);
        return true;
    }

    private static void requireAlive(Connection opened) throws SQLException {
        try (var statement = opened.createStatement()) {
            statement.execute("");
        }
    }

    private boolean hear(PGConnection notifications) throws SQLException {
        var heard = next(notifications);
        for (var one : heard) {
            if (one.getParameter().equals(announcer)) {
                probed = true;
                receiver.echo();
                continue;
            }
            var announcement = PostgresSeats.parse(one.getParameter());
            if (announcement.isPresent()) {
                if (announcement.get().announcer().equals(announcer)) {
                    receiver.echo();
                }
                receiver.heard(announcement.get());
            }
        }
        return heard.length > 0;
    }

    private PGNotification[] next(PGConnection notifications) throws SQLException {
        hearingSinceNanos = System.nanoTime();
        try {
            var heard = notifications.getNotifications(NAP_MILLIS);
            return heard == null ? new PGNotification[0] : heard;
        } finally {
            hearingSinceNanos = null;
        }
    }

    /** Gives a borrowed connection back as it was, unless nothing is left of it. */
    private void leave(Connection opened, int networkTimeout, boolean committed) {
        if (opened.equals(aborted)) {
            return;
        }
        try (var statement = opened.createStatement()) {
            statement.execute("UNLISTEN " + channel);
        } catch (SQLException e) {
            log.debug("could not stop listening to {}", source, e); // a standby takes no such statement
        }
        try {
            opened.setAutoCommit(committed);
            SqlConnection.limit(opened, Math.max(0, networkTimeout));
        } catch (SQLException e) {
            log.debug("a connection to {} is broken", source, e); // and the pool will see that
        }
    }
}

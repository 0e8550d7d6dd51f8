package dev.bellwether.outbox;

import dev.bellwether.spi.BackendThread;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears the writers of an outbox on PostgreSQL, over a connection of its own and on a thread of its own, while any
 * shard of the relay is led. Thread-safe.
 */
final class WakeUpListener {
    /*
     * A pooler between us and the server may accept LISTEN, and deliver nothing. So nobody relies on us until a probe
     * has arrived, which a reader sends over its own connection; there, a pooler that shares sessions would also let
     * the lock of an idle relay stay behind in that of somebody else.
     *
     * What is notified while there is no connection is lost. When there is one again, all readers look once.
     *
     * The connection is the one that a relay can do without, so it is given back if readers have to wait for theirs.
     * But not while the database is silent: then nobody is lent any.
     *
     * Where the network falls silent within a notification, the driver waits for the rest of it without a limit. So
     * threads that read, or borrow, break a connection off on which ours hangs.
     */
    private static final Logger LOG = LoggerFactory.getLogger(WakeUpListener.class);
    private static final int NAP_MILLIS = 500;
    private static final long PROBE_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long PULSE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long HUNGER_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long MOST_RETRY_NANOS = TimeUnit.SECONDS.toNanos(8);
    private static final long LONG_RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Longer than a notification takes to arrive when it has begun to, and the thread to notice. */
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long CLOSE_MILLIS = 2 * NAP_MILLIS;
    private static final String NONE_TO_SPARE =
            "the data source has no connection to spare; it needs two for each shard, and one more";

    private final DataSource database;
    private final RelayConfig config;
    private final Set<ReadPace> paces = ConcurrentHashMap.newKeySet();
    private final AtomicReference<@Nullable String> probe = new AtomicReference<>();
    private final AtomicInteger borrowers = new AtomicInteger();
    private final AtomicInteger refusals = new AtomicInteger();
    private volatile long hungrySinceNanos;
    private volatile long probedNanos;
    private volatile @Nullable Connection lent;
    private volatile @Nullable Long receivingSinceNanos;
    private volatile boolean listening;
    private volatile boolean closed;
    private @Nullable Thread thread; // guarded by this
    // the thread's own
    private int failures;
    private boolean warned;
    private int refusalsBefore;
    private long starvedNanos; // though the database answered

    WakeUpListener(DataSource database, RelayConfig config) {
        this.database = database;
        this.config = config;
    }

    /** Calls this reader, too. */
    synchronized void add(ReadPace pace, WakeUpSql sql) {
        paces.add(pace);
        if (thread == null && !closed) {
            var next = BackendThread.lasting("outbox." + config.name() + "-listen", () -> run(sql), this::isReplaced);
            next.start(); // throws if there is no thread: the next reader tries again
            thread = next;
        }
    }

    /** Calls it no more; gives the connection back soon if there is none left. */
    void remove(ReadPace pace) {
        paces.remove(pace);
    }

    private synchronized boolean isReplaced() {
        return thread != Thread.currentThread();
    }

    private synchronized boolean goesOn() {
        if (closed || paces.isEmpty()) {
            thread = null;
            return false;
        }
        return true;
    }

    /** Returns whether what writers notify from now on arrives. */
    boolean isListening() {
        return listening;
    }

    /** Sends a probe, if one is wanted. On a reader's thread, over its connection, at each look that finds no more. */
    void probe(Connection connection, WakeUpSql sql) throws SQLException {
        breakOffIfStuck();
        var text = probe.get();
        if (text != null) {
            sql.notify(connection, text);
            probedNanos = System.nanoTime();
            probe.compareAndSet(text, null);
        }
    }

    /** A connection is being waited for that the relay cannot do without. */
    void borrows() {
        breakOffIfStuck();
        if (borrowers.getAndIncrement() == 0) {
            hungrySinceNanos = System.nanoTime();
        }
    }

    /** It is waited for no more: it is there, or there is none. */
    void borrowed(boolean success) {
        borrowers.decrementAndGet();
        if (success) {
            hungrySinceNanos = System.nanoTime(); // others who wait may be the next
        } else {
            refusals.incrementAndGet();
        }
    }

    /** Returns whether the relay lacks a connection while we have one. */
    private boolean starves() {
        return refusals.get() != refusalsBefore
                || (borrowers.get() > 0 && System.nanoTime() - hungrySinceNanos > HUNGER_NANOS);
    }

    /**
     * Returns whether to give the connection back, since the relay lacks one though the database answers. What was
     * asked for in a silence may take as long again when that is over: so it lacks one only if it does so again soon
     * after the database has answered.
     */
    private boolean givesUp(Connection connection) throws SQLException {
        if (!starves()) {
            return false;
        }
        var asked = System.nanoTime();
        requireAlive(connection);
        var now = System.nanoTime();
        var silence = now - asked;
        if (silence <= HUNGER_NANOS) {
            if (now - starvedNanos < LONG_RETRY_NANOS) {
                warn(NONE_TO_SPARE);
                return true;
            }
            starvedNanos = now;
        }
        hungrySinceNanos = now + silence;
        refusalsBefore = refusals.get();
        return false;
    }

    private void breakOffIfStuck() {
        var since = receivingSinceNanos;
        if (since != null && System.nanoTime() - since > STUCK_NANOS) {
            breakOff();
        }
    }

    private void breakOff() {
        var hanging = lent;
        if (hanging != null) {
            LentConnection.abort(hanging);
        }
    }

    /** It breaks if nobody is there any more. */
    private static void requireAlive(Connection connection) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("SELECT 1");
        }
    }

    /** Ends soon; {@link #join} waits for that. */
    void close() {
        closed = true;
        Thread running;
        synchronized (this) {
            running = thread;
        }
        if (running != null) {
            LockSupport.unpark(running);
        }
    }

    /** Waits for the connection to be given back, for a second at most; then, or if interrupted, breaks it off. */
    void join() {
        Thread running;
        synchronized (this) {
            running = thread;
        }
        if (running == null) {
            return;
        }
        try {
            running.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        breakOff(); // nobody comes later who would
    }

    private void run(WakeUpSql sql) {
        while (goesOn()) {
            long pause;
            try (var connection = database.getConnection()) {
                pause = listen(connection, sql);
            } catch (SQLException e) {
                pause = backoff();
                if (failures > 3) {
                    warn("there is no connection to listen on (" + e.getMessage() + ")");
                }
                LOG.debug("outbox {}: not listening", config.name(), e);
            } catch (RuntimeException | LinkageError e) {
                pause = LONG_RETRY_NANOS;
                warn("listening failed by " + e);
            } finally {
                silent();
            }
            var until = System.nanoTime() + pause;
            while (!closed && !paces.isEmpty() && System.nanoTime() - until < 0) {
                BackendThread.pause(Math.min(TimeUnit.MILLISECONDS.toNanos(NAP_MILLIS), until - System.nanoTime()));
            }
        }
    }

    private void silent() {
        if (listening) {
            listening = false;
            paces.forEach(ReadPace::lookAgain);
        }
        probe.set(null);
    }

    private long backoff() {
        failures = Math.min(failures + 1, 16);
        return Math.min(MOST_RETRY_NANOS, RETRY_NANOS << (failures - 1));
    }

    /** Listens until there is a reason not to. Returns how long to wait before the next try. */
    private long listen(Connection connection, WakeUpSql sql) throws SQLException {
        if (!connection.isWrapperFor(PGConnection.class)) {
            warn("the data source gives no org.postgresql.PGConnection");
            return LONG_RETRY_NANOS;
        }
        refusalsBefore = refusals.get();
        starvedNanos = System.nanoTime() - LONG_RETRY_NANOS;
        var notifications = connection.unwrap(PGConnection.class);
        var commits = connection.getAutoCommit();
        var patience = connection.getNetworkTimeout();
        String channel = null;
        try {
            lent = connection;
            connection.setNetworkTimeout(
                    Runnable::run, (int) config.databaseTimeout().toMillis());
            connection.setAutoCommit(true);
            try (var statement = connection.createStatement()) {
                try (var result = statement.executeQuery(sql.channel())) {
                    result.next();
                    channel = result.getString(1);
                }
                statement.execute("LISTEN " + channel);
            }
            return prove(connection, notifications) ? hear(connection, notifications) : LONG_RETRY_NANOS;
        } finally {
            restore(connection, channel, commits, patience);
            lent = null;
        }
    }

    /** Returns whether what a reader sends arrives here. */
    private boolean prove(Connection connection, PGConnection notifications) throws SQLException {
        var text = "probe " + UUID.randomUUID();
        probedNanos = 0;
        probe.set(text);
        paces.forEach(ReadPace::lookAgain);
        while (!closed && !paces.isEmpty()) {
            if (receive(notifications).contains(text)) {
                LOG.debug("outbox {}: listening for notifications of writers", config.name());
                failures = 0;
                warned = false;
                listening = true;
                // what was announced until now may have been missed
                paces.forEach(ReadPace::lookAgain);
                return true;
            }
            var sent = probedNanos;
            if (sent != 0 && System.nanoTime() - sent > PROBE_NANOS) {
                warn("a notification did not arrive, perhaps because of a pooler that shares connections between"
                        + " clients; let it pool sessions, or give the relay a direct address");
                return false;
            }
            if (givesUp(connection)) {
                return false;
            }
        }
        return false;
    }

    private long hear(Connection connection, PGConnection notifications) throws SQLException {
        var heard = System.nanoTime();
        while (!closed && !paces.isEmpty()) {
            var texts = receive(notifications);
            if (texts.contains(WakeUpSql.MOVED)) {
                return 0; // to where it is now
            }
            if (texts.contains(WakeUpSql.BUSY)) {
                paces.forEach(ReadPace::forsaken);
            }
            if (texts.contains(WakeUpSql.ROWS)) {
                paces.forEach(ReadPace::called);
            }
            if (!texts.isEmpty()) {
                heard = System.nanoTime();
            } else if (System.nanoTime() - heard > PULSE_NANOS) {
                requireAlive(connection);
                heard = System.nanoTime();
            }
            if (givesUp(connection)) {
                return LONG_RETRY_NANOS;
            }
        }
        return 0;
    }

    private Set<String> receive(PGConnection notifications) throws SQLException {
        receivingSinceNanos = System.nanoTime();
        try {
            var texts = new HashSet<String>();
            var all = notifications.getNotifications(NAP_MILLIS);
            if (all != null) {
                for (var one : all) {
                    texts.add(one.getParameter());
                }
            }
            return texts;
        } finally {
            receivingSinceNanos = null;
        }
    }

    private void warn(String why) {
        if (!warned) {
            warned = true;
            LOG.warn(
                    "outbox {}: writers cannot wake this relay: {}. It polls for rows each {} ms instead. Set"
                            + " wakeUp(false) if this is intended.",
                    config.name(),
                    why,
                    config.maxPoll().toMillis());
        }
    }

    private void restore(Connection connection, @Nullable String channel, boolean commits, int patience) {
        if (channel != null) {
            try (var statement = connection.createStatement()) {
                statement.execute("UNLISTEN " + channel);
            } catch (SQLException e) {
                LOG.debug("outbox {}: could not stop listening", config.name(), e); // as where nobody may listen
            }
        }
        try {
            connection.setAutoCommit(commits);
            connection.setNetworkTimeout(Runnable::run, patience);
        } catch (SQLException e) {
            LOG.debug("outbox {}: the listening connection was broken when it was given back", config.name(), e);
        }
    }
}

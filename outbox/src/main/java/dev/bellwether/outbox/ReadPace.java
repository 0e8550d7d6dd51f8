package dev.bellwether.outbox;

import dev.bellwether.spi.BackendThread;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How long the reader of a shard waits before it looks for rows again. Confined to the reader's thread, except
 * {@link #called}, {@link #lookAgain} and {@link #forsaken}, which any thread may call.
 */
final class ReadPace {
    private static final Logger LOG = LoggerFactory.getLogger(ReadPace.class);
    private static final long IDLE_NANOS = 1_000_000_000;
    private static final long SLICE_NANOS = 1_000_000_000;
    private static final long UNANNOUNCED_NANOS = 600_000_000_000L;

    private final RelayConfig config;
    private final int shard;
    private final @Nullable WakeUpSql wakeUps;
    private final WakeUpListener listener;
    private final Runnable unpark;
    private final LongSupplier nanoTime;
    private final AtomicInteger calls = new AtomicInteger();
    private final long least;
    private final long most;
    private long wait;

    /** Whether writers call us: those that do not were over when we looked the last time but one. */
    private boolean idle;
    /** Whether we have waited since then, so that rows that come now were to be announced. */
    private boolean rested;

    private boolean found;
    private volatile boolean forsaken;
    /** Whether the reader is to look: what comes while it does something else than to wait must not be lost. */
    private volatile boolean woken;

    private int callsBefore;
    /** Rows came of which nobody has told so far. */
    private boolean unannounced;

    private long unannouncedUntil;

    /**
     * Begins to look often.
     *
     * @param wakeUps what to say to the writers; null if they cannot call us
     * @param unpark makes the reader's thread look
     */
    ReadPace(
            RelayConfig config,
            int shard,
            @Nullable WakeUpSql wakeUps,
            WakeUpListener listener,
            Runnable unpark,
            LongSupplier nanoTime) {
        this.config = config;
        this.shard = shard;
        this.wakeUps = wakeUps;
        this.listener = listener;
        this.unpark = unpark;
        this.nanoTime = nanoTime;
        least = config.minPoll().toNanos();
        most = config.maxPoll().toNanos();
        wait = least;
        unannouncedUntil = nanoTime.getAsLong();
    }

    /** Says that there are rows. From any thread. */
    void called() {
        calls.incrementAndGet();
        lookAgain();
    }

    /** Says that there may be some. From any thread. */
    void lookAgain() {
        woken = true;
        unpark.run();
    }

    /** Writers call nobody any more. From any thread. */
    void forsaken() {
        forsaken = true;
        lookAgain();
    }

    /** What a reader does now and then while it waits. */
    interface Chore {
        /** Returns whether to wait on. */
        boolean done() throws SQLException, DeposedException;
    }

    /**
     * Begins. The leader before us may have died while it was idle, and then writers notify nobody until we are idle:
     * the other shards must not wait for them.
     */
    void begin(Connection connection) throws SQLException {
        if (wakeUps != null && shard == 0 && config.shards() > 1) {
            wakeUps.notify(connection, WakeUpSql.BUSY);
        }
    }

    /** There were some. */
    void found() {
        wait = least;
        found = true;
        if (idle && rested && calls.get() == callsBefore) {
            unannounced = true;
        }
    }

    /**
     * Waits until there may be rows.
     *
     * @param gaps whether ids are missing, so that somebody may be about to commit
     * @param chore what is done each second if the wait is longer
     */
    void rest(Connection connection, boolean gaps, Chore chore) throws SQLException, DeposedException {
        if (wakeUps != null && restsAsOneWhoIsCalled(connection, wakeUps)) {
            return;
        }
        if (!idle) {
            park(wait, chore);
            wait = Math.min(most, wait + wait / 8 + 1);
        } else if (calls.get() == callsBefore) {
            rested = true;
            park(idleNanos(gaps), chore);
        }
    }

    private void park(long nanos, Chore chore) throws SQLException, DeposedException {
        var until = nanoTime.getAsLong() + nanos;
        var left = nanos;
        var goesOn = true;
        while (goesOn && left > 0 && !woken) {
            var slice = Math.min(left, SLICE_NANOS);
            var began = nanoTime.getAsLong();
            BackendThread.pause(slice);
            var now = nanoTime.getAsLong();
            left = until - now;
            goesOn = now - began >= slice && (left <= 0 || chore.done()); // else something has happened
        }
        woken = false;
    }

    /** Returns whether it has just become idle, and is to look once more before it waits. */
    private boolean restsAsOneWhoIsCalled(Connection connection, WakeUpSql sql) throws SQLException {
        listener.probe(connection, sql);
        if (idle && (found || forsaken || calls.get() != callsBefore || !listener.isListening())) {
            end(connection, sql);
        }
        found = false;
        // after some eight looks in vain
        if (idle || wait < Math.min(most, 2 * least) || !listener.isListening()) {
            return false;
        }
        judge();
        callsBefore = calls.get();
        rested = false;
        forsaken = false;
        idle = sql.beginIdle(connection, shard);
        return idle;
    }

    private void judge() {
        if (unannounced && calls.get() == callsBefore) {
            if (nanoTime.getAsLong() - unannouncedUntil >= 0) {
                LOG.info(
                        "outbox {}: rows of shard {} come without a notification, for example by a plain INSERT."
                                + " Polling for them each {} ms. To get notifications, give the table its trigger.",
                        config.name(),
                        shard,
                        config.maxPoll().toMillis());
            }
            unannouncedUntil = nanoTime.getAsLong() + UNANNOUNCED_NANOS;
        }
        unannounced = false;
    }

    private long idleNanos(boolean gaps) {
        return gaps || nanoTime.getAsLong() - unannouncedUntil < 0 ? most : Math.max(IDLE_NANOS, most);
    }

    private void end(Connection connection, WakeUpSql sql) throws SQLException {
        idle = false;
        wait = least;
        sql.endIdle(connection, shard, config.shards() > 1 && calls.get() == callsBefore);
    }

    /** Looks no more: nobody needs to call us. */
    void end(Connection connection) {
        if (!idle || wakeUps == null) {
            return;
        }
        try {
            end(connection, wakeUps);
        } catch (SQLException e) {
            LOG.debug("outbox {}: the connection broke while shard {} was idle", config.name(), shard, e);
        }
    }
}

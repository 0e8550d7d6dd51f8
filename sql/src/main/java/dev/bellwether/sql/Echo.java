package dev.bellwether.sql;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Whether we hear what we announce: a listening connection may die silently, or a pooler stop delivering.
 *
 * <p>Thread-safe. Time is a parameter: the monotonic clock.
 */
final class Echo {
    /*
     * Standbys that do not hear look at the seat when its lease has run out, and announce what they find. So each
     * process that hears nothing announces something within a lease, and its echo is missed at once. A process that was
     * held up has perhaps not come to hear what has arrived: it is given a second chance.
     */
    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    static final long SECOND_CHANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private boolean listening; // guarded by this
    private @Nullable Long dueNanos; // guarded by this
    private boolean second; // guarded by this

    /** Notes whether what is announced is heard here. */
    synchronized void listening(boolean listening) {
        this.listening = listening;
        dueNanos = null; // it was heard, or will not be
    }

    /** Notes that something of ours was announced, which must be heard here if anybody listens. */
    synchronized void announced(long nowNanos) {
        if (listening && dueNanos == null) {
            dueNanos = nowNanos + PATIENCE_NANOS;
            second = false;
        }
    }

    /** Notes that something of ours was heard. */
    synchronized void heard() {
        dueNanos = null;
    }

    /** Returns when to ask {@link #isMissed}, or the given time if that is earlier. */
    synchronized long earliest(long nanos) {
        var due = dueNanos;
        return due == null || due - nanos > 0 ? nanos : due;
    }

    /** Returns whether something that we announced should have been heard by now. Says so once. */
    synchronized boolean isMissed(long nowNanos) {
        var due = dueNanos;
        if (due == null || nowNanos - due < 0) {
            return false;
        }
        if (!second && nowNanos - due > SECOND_CHANCE_NANOS) {
            second = true;
            dueNanos = nowNanos + SECOND_CHANCE_NANOS;
            return false;
        }
        dueNanos = null;
        return true;
    }
}

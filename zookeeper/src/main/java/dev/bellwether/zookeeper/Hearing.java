package dev.bellwether.zookeeper;

import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Notices that a client hears nothing. The thread that hands on its answers ends when anybody interrupts it, and the
 * client makes no other: it keeps its session, and with it a seat that nobody leads from; and if that runs out, or a
 * server refuses us, nobody hears of it, so that there is no next one.
 *
 * <p>An answer may be there that nobody has read yet, because this process stood still: so silence counts when it has
 * been suspected for a timeout, and goes on.
 *
 * <p>Thread-safe.
 */
final class Hearing {
    /** So many timeouts of the session: a server that is as slow as that has no session left to keep. */
    private static final int TIMEOUTS = 3;

    private final Runnable onDeaf;
    private @Nullable ZooKeeper asked; // guarded by this
    private int unanswered; // by that one; guarded by this
    private long silentSinceNanos; // while there are any; guarded by this
    private long timeoutNanos; // 0 while no session is known; guarded by this
    private boolean suspected; // guarded by this
    private long suspectedNanos; // guarded by this

    /** Tells of it each time that it has lasted for so long. */
    Hearing(Runnable onDeaf) {
        this.onDeaf = onDeaf;
    }

    /** Something is asked. */
    void asks(ZooKeeper by) {
        if (isDeaf(by)) {
            onDeaf.run();
        }
    }

    private synchronized boolean isDeaf(ZooKeeper by) {
        var now = System.nanoTime();
        if (!by.equals(asked)) {
            asked = by;
            unanswered = 0;
            suspected = false;
        }
        if (unanswered++ == 0) {
            silentSinceNanos = now;
        }
        if (by.getSessionTimeout() > 0) { // of one that has run out it is not known any more
            timeoutNanos = (long) by.getSessionTimeout() * 1_000_000;
        }
        if (timeoutNanos == 0 || now - silentSinceNanos <= (TIMEOUTS - 1) * timeoutNanos || isConnecting(by)) {
            return false;
        }
        if (!suspected) {
            suspected = true;
            suspectedNanos = now;
        }
        if (now - suspectedNanos <= timeoutNanos) {
            return false;
        }
        suspected = false;
        silentSinceNanos = now;
        return true;
    }

    /** An attempt that fails answers what was asked, and so does a client that has ended: if anybody hears it. */
    private static boolean isConnecting(ZooKeeper by) {
        var state = by.getState();
        return state.isAlive() && !state.isConnected();
    }

    /** It is answered, with an error or not. */
    synchronized void hears(ZooKeeper by) {
        if (by.equals(asked)) {
            unanswered--;
            suspected = false;
            silentSinceNanos = System.nanoTime();
        }
    }
}

package dev.bellwether.sql;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Asks again while the file of an SQLite database is locked. */
final class BusyFile {
    /*
     * SQLite has a timeout of its own, which is not enough. It waits longer and longer between its tries, so that
     * anybody who writes all the time starves the others. And where two would wait for each other, as when both switch
     * a fresh file to WAL, or one recovers what the other is opening, it does not wait at all. Nothing was done by what
     * failed so, and it may be done again.
     */
    private static final int BUSY = 5;
    private static final long LEAST_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long MOST_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(8);

    private BusyFile() {}

    /** What is tried. */
    interface Attempt<T> {
        T make() throws SQLException;
    }

    /** Returns whether the file was locked. */
    static boolean isBusy(SQLException e) {
        return (e.getErrorCode() & 0xff) == BUSY;
    }

    static <T> T untilFree(Duration patience, Attempt<T> attempt) throws SQLException {
        var deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            try {
                return attempt.make();
            } catch (SQLException e) {
                if (!isBusy(e) || System.nanoTime() - deadline >= 0) {
                    throw e;
                }
            }
            nap(ThreadLocalRandom.current().nextLong(LEAST_NAP_NANOS, MOST_NAP_NANOS));
        }
    }

    /** Naps on an interrupted thread, too, which stays interrupted. */
    private static void nap(long nanos) {
        var interrupted = false;
        var until = System.nanoTime() + nanos;
        for (var left = nanos; left > 0; left = until - System.nanoTime()) {
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(left); // returns at once after an interrupt, also one that is forgotten
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

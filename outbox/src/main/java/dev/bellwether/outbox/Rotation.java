package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives back storage now and then: seldom while there is none to give back, or somebody holds it. Confined to the
 * reader's thread.
 */
final class Rotation {
    private static final Logger LOG = LoggerFactory.getLogger(Rotation.class);
    private static final long SHORTEST_NANOS = 1_000_000_000;
    private static final long LONGEST_NANOS = 16_000_000_000L;

    private final Store store;
    private long dueNanos = System.nanoTime();
    private long waitNanos = SHORTEST_NANOS;
    private boolean told;

    Rotation(Store store) {
        this.store = store;
    }

    /** Looks whether it is time. It never keeps a relay from publishing: what fails is told once, and tried again. */
    void turn(Connection connection, long cursor, long nowNanos) {
        if (nowNanos - dueNanos < 0) {
            return;
        }
        var rotated = false;
        try {
            rotated = store.rotate(connection, cursor);
        } catch (SQLException e) {
            if (!told) {
                LOG.warn(
                        "outbox {}: the storage of what was published cannot be given back: {}. The table grows until it can."
                                + " The relay needs SELECT and TRUNCATE on the parts of {} and {}.",
                        store.table.name(),
                        e.getMessage(),
                        store.table.name(),
                        store.table.done());
                told = true;
            }
        }
        waitNanos = rotated ? SHORTEST_NANOS : Math.min(LONGEST_NANOS, 2 * waitNanos);
        dueNanos = nowNanos + waitNanos;
    }
}

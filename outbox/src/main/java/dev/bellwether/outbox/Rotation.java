package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives back storage now and then: rarely while there is none to give back, or somebody holds it. Confined to the
 * reader's thread.
 */
final class Rotation {
    private static final Logger LOG = LoggerFactory.getLogger(Rotation.class);
    private static final long SHORTEST_NANOS = 1_000_000_000;
    private static final long LONGEST_NANOS = 16_000_000_000L;

    private final Store store;
    private final Duration retained;
    private long dueNanos = System.nanoTime();
    private long waitNanos = SHORTEST_NANOS;
    private boolean told;

    Rotation(Store store, Duration retained) {
        this.store = store;
        this.retained = retained;
        if (!retained.isZero() && store.form() == OutboxForm.PLAIN) {
            LOG.warn(
                    "outbox {}: nothing is kept of what was published, though this relay is set to retain it: "
                            + "the table is"
                            + " plain, so rows are deleted. On PostgreSQL, `bellwether outbox migrate --to "
                            + "rotated` makes it one"
                            + " that can.",
                    store.table.name());
        }
    }

    /** Looks whether it is time. It never keeps a relay from publishing: what fails is told once, and tried again. */
    void turn(Connection connection, long cursor, long nowNanos) {
        if (nowNanos - dueNanos < 0) {
            return;
        }
        var rotated = false;
        try {
            rotated = store.rotate(connection, cursor, retained);
        } catch (SQLException e) {
            if (!told) {
                LOG.warn(
                        "outbox {}: the storage of what was published cannot be given back: {}. The table grows "
                                + "until it can."
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

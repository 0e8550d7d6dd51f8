package dev.bellwether.nats;

import io.nats.client.Connection;
import io.nats.client.ForceReconnectOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notices that a connection of ours is dead silently, and makes it again. Thread-safe. */
final class ConnectionHealth {
    private static final Logger log = LoggerFactory.getLogger(ConnectionHealth.class);
    private static final Duration SIGN_OF_LIFE = Duration.ofSeconds(1);
    private static final long RECONNECT_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Connection connection;
    private final boolean owned;
    private final String description;
    private final AtomicInteger silent = new AtomicInteger();
    private final AtomicLong reconnectedNanos = new AtomicLong(System.nanoTime() - RECONNECT_PAUSE_NANOS);
    private volatile boolean deaf;
    private volatile Runnable onSilence = () -> {};

    ConnectionHealth(Connection connection, boolean owned, String description) {
        this.connection = connection;
        this.owned = owned;
        this.description = description;
    }

    /** Calls this, on any thread, when a request went unanswered. */
    void onSilence(Runnable onSilence) {
        this.onSilence = onSilence;
    }

    /** Something was heard. */
    void heard() {
        silent.set(0);
    }

    /** A request went unanswered. */
    void unheard() {
        silent.incrementAndGet();
        onSilence.run();
    }

    /** The server said that we may not hear answers. It does not say when we may again: a new connection finds out. */
    void deaf() {
        deaf = true;
        onSilence.run();
    }

    /**
     * Returns whether a request of late went unanswered, so that it is worth looking whether the connection is dead.
     */
    boolean seemsDead() {
        return owned
                && (silent.get() > 0 || deaf)
                && connection.getStatus() == Connection.Status.CONNECTED
                && System.nanoTime() - reconnectedNanos.get() > RECONNECT_PAUSE_NANOS;
    }

    /** Asks the server for a sign; without one, connects again, to another server if there is one. Waits. */
    void reconnectIfDead() {
        if (deaf) {
            log.info("{} may not hear answers; connecting again, in case that it may now", description);
            reconnect();
            return;
        }
        try {
            connection.flush(SIGN_OF_LIFE);
            silent.set(0);
        } catch (TimeoutException e) {
            log.info("{} gives no sign of life; connecting again", description);
            reconnect();
        } catch (IllegalStateException e) {
            log.debug("{}: {}", description, e.getMessage()); // it is connecting already, or closed
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void reconnect() {
        reconnectedNanos.set(System.nanoTime());
        silent.set(0);
        deaf = false;
        try {
            connection.forceReconnect(ForceReconnectOptions.FORCE_CLOSE_INSTANCE);
        } catch (IOException e) {
            log.debug("{}: {}", description, e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

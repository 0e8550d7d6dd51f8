package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Durations;
import io.nats.client.AuthenticationException;
import io.nats.client.Connection;
import io.nats.client.ConnectionListener;
import io.nats.client.ForceReconnectOptions;
import io.nats.client.Nats;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the connection. Notices that one of ours is dead silently, or that the client has forgotten to make it again,
 * and makes it again; and replaces one of ours that the client has given up. Thread-safe.
 */
final class ConnectionHealth {
    private static final Logger log = LoggerFactory.getLogger(ConnectionHealth.class);
    private static final Duration SIGN_OF_LIFE = Duration.ofSeconds(1);
    private static final Duration RECONNECT_PAUSE = Duration.ofSeconds(2);

    private final boolean owned;
    private final String description;
    private final AtomicInteger silent = new AtomicInteger();
    private final AtomicLong reconnectedNanos = new AtomicLong(System.nanoTime() - RECONNECT_PAUSE.toNanos());
    private final AtomicLong replacedNanos = new AtomicLong(reconnectedNanos.get());
    private final List<Runnable> onReplaced = new CopyOnWriteArrayList<>();
    private volatile Connection connection; // written under this
    private boolean closed; // guarded by this
    private volatile boolean refused; // when it was to be replaced
    private volatile boolean deaf;
    private volatile Runnable onSilence = () -> {};

    ConnectionHealth(Connection connection, boolean owned, String description) {
        this.connection = connection;
        this.owned = owned;
        this.description = description;
        if (owned) {
            connection.addConnectionListener(this::connectionEvent);
        }
    }

    /** Returns the present one. */
    Connection connection() {
        return connection;
    }

    /** Has this run each time that another connection has taken the place of one. */
    void onReplaced(Runnable run) {
        onReplaced.add(run);
    }

    /** Calls this, on any thread, when it is time to look whether the connection is dead. */
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
     * Returns whether a request of late went unanswered, so that it is worth looking whether the connection is dead; or
     * there is none.
     */
    boolean seemsDead() {
        return owned
                && switch (connection.getStatus()) {
                    case CLOSED -> isPauseOver(replacedNanos);
                    case CONNECTED -> (silent.get() > 0 || deaf) && isPauseOver(reconnectedNanos);
                    case CONNECTING, DISCONNECTED, RECONNECTING -> isPauseOver(reconnectedNanos);
                };
    }

    private static boolean isPauseOver(AtomicLong sinceNanos) {
        return System.nanoTime() - sinceNanos.get() > RECONNECT_PAUSE.toNanos();
    }

    private void connectionEvent(Connection source, ConnectionListener.Events event) {
        if (event == ConnectionListener.Events.CLOSED) {
            onSilence.run();
        }
    }

    /** Returns what it means that a request cannot be sent. */
    ElectionException notConnected(RuntimeException e) {
        onSilence.run();
        if (!owned || connection.getStatus() != Connection.Status.CLOSED) {
            return new UnavailableException(description + " is not connected: " + e.getMessage(), e);
        }
        return refused
                ? new AccessRefusedException(
                        description + ": authentication failed, and is tried again every "
                                + Durations.show(RECONNECT_PAUSE)
                                + ". Nobody here can be elected until it succeeds. Check user, password, token or"
                                + " credentials",
                        e)
                : new UnavailableException(
                        description + ": the client gave the connection up, as it does when a server refuses the same"
                                + " user twice. Another one is being made",
                        e);
    }

    /** Sees to it that there is a connection. Waits. */
    void reconnectIfDead() {
        switch (connection.getStatus()) {
            case CLOSED -> replace();
            case CONNECTED -> reconnectWithoutSign();
            case CONNECTING, DISCONNECTED, RECONNECTING ->
                // does nothing while the client connects again, which any error, as for lack of a thread, ends
                reconnect();
        }
    }

    /** Asks the server for a sign; without one, connects again, to another server if there is one. */
    private void reconnectWithoutSign() {
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

    /** A server that refuses our user may do so for a moment only: while it asks others, or takes other settings. */
    private void replace() {
        try {
            var made = Nats.connect(connection.getOptions());
            if (!take(made)) {
                made.close();
                return;
            }
            log.info("{}: the client had given the connection up; connected again", description);
            onReplaced.forEach(Runnable::run);
        } catch (AuthenticationException e) {
            refused = true;
        } catch (IOException | RuntimeException e) {
            refused = false;
            log.debug("{}: {}", description, e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            replacedNanos.set(System.nanoTime());
            DelayThread.after(RECONNECT_PAUSE).execute(onSilence); // to try again, if that was in vain
        }
    }

    /** Returns false if we were closed meanwhile. */
    private synchronized boolean take(Connection made) {
        if (closed) {
            return false;
        }
        made.addConnectionListener(this::connectionEvent);
        connection = made;
        refused = false;
        deaf = false;
        silent.set(0);
        return true;
    }

    /** Closes the connection; from then on no other is made. */
    void close() throws InterruptedException {
        synchronized (this) {
            closed = true;
        }
        connection.close();
    }
}

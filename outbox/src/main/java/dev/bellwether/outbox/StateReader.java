package dev.bellwether.outbox;

import dev.bellwether.spi.BackendThread;
import java.sql.SQLException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads how the outbox stands, again and again, from the first time that somebody asks. On a thread of its own, so that
 * a database that does not answer keeps nobody waiting. Thread-safe.
 */
final class StateReader implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(StateReader.class);
    /** What is older is not told: who is alarmed by figures must not take old ones for new. */
    private static final int FRESH_INTERVALS = 3;

    private final RelayConfig config;
    private final Source source;
    private final Function<StateReader, Thread> threads;
    private volatile @Nullable Known known;
    private @Nullable Thread thread; // guarded by this
    private volatile boolean ended;

    /** Where connections come from. */
    interface Source {
        LentConnection lend() throws SQLException;
    }

    private record Known(OutboxAdmin.State state, long atNanos) {}

    StateReader(RelayConfig config, Source source) {
        this(config, source, StateReader::lasting);
    }

    /** Reads on a thread of these. */
    StateReader(RelayConfig config, Source source, Function<StateReader, Thread> threads) {
        this.config = config;
        this.source = source;
        this.threads = threads;
    }

    private Thread lasting() {
        return BackendThread.lasting("outbox." + config.name() + "-state", this, () -> ended);
    }

    /** Returns what was read last; never waits. */
    Optional<OutboxAdmin.State> latest() {
        start();
        var last = known;
        return last != null
                        && System.nanoTime() - last.atNanos()
                                < FRESH_INTERVALS * config.stateInterval().toNanos()
                ? Optional.of(last.state())
                : Optional.empty();
    }

    private synchronized void start() {
        if (thread == null && !ended) {
            var next = threads.apply(this);
            next.start(); // throws if there is no thread: the next who asks tries again
            thread = next;
        }
    }

    /** Ends it soon. */
    synchronized void end() {
        ended = true;
        if (thread != null) {
            thread.interrupt();
        }
    }

    @Override
    public void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                try {
                    known = new Known(read(), System.nanoTime());
                } catch (SQLException | RuntimeException e) {
                    LOG.debug("outbox {}: the state of the table could not be read", config.name(), e);
                }
                TimeUnit.NANOSECONDS.sleep(config.stateInterval().toNanos());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private OutboxAdmin.State read() throws SQLException {
        try (var lent = source.lend()) {
            return OutboxAdmin.quickState(lent.connection(), config.table());
        }
    }
}

package dev.bellwether.kafka;

import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.DelayThread;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the brokers about topics and groups, for all of a connection. A client of Kafka reads its certificates once,
 * when it is made: so one that is refused for them has a new one take its place, at most once a second. So has one that
 * answers nothing: its thread ends by any error, and from then on each question is late at once. Where no broker
 * answers, another one is no better, so each gets twice the time of the one before. One whose {@link NetworkThread}
 * somebody has interrupted is asked something.
 *
 * <p>Thread-safe.
 */
final class AdminConnection {
    private static final Logger log = LoggerFactory.getLogger(AdminConnection.class);
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** For how long all questions may be late before another client is made. */
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** The same, where other clients did not help. */
    private static final long LONGEST_SILENCE_NANOS = TimeUnit.MINUTES.toNanos(2);

    private static final Executor LATER = DelayThread.after(Duration.ofSeconds(5));

    private final Supplier<Admin> connector;
    private final Clock clock;
    private final Executor later;
    private volatile Admin admin;
    private long replacedNanos;
    /** Since when the present client has answered nothing, if a question was late since it did. */
    private @Nullable Long lateSinceNanos;

    private long silenceNanos = SILENCE_NANOS;
    private volatile boolean closed;
    private volatile @Nullable Thread thread; // that of the present client, as soon as it has answered

    AdminConnection(Supplier<Admin> connector) {
        this(connector, Clock.system());
    }

    AdminConnection(Supplier<Admin> connector, Clock clock) {
        this(connector, clock, LATER);
    }

    /** Makes one that looks after its client's thread by this, which does what it is given a little later. */
    AdminConnection(Supplier<Admin> connector, Clock clock, Executor later) {
        this.connector = connector;
        this.clock = clock;
        replacedNanos = clock.nanos() - PAUSE_NANOS;
        this.later = later;
        admin = connector.get();
        try {
            later.execute(this::look);
        } catch (RuntimeException | Error e) { // there is no thread for that
            close(Duration.ZERO);
            throw e;
        }
    }

    /** Nobody else may ask anything for hours. */
    private void look() {
        var answering = thread;
        if (!closed) {
            later.execute(this::look); // first: whatever is thrown below, it comes
            if (answering != null && answering.isInterrupted()) {
                var unused = ask(client -> client.describeCluster().clusterId());
            }
        }
    }

    /**
     * Asks. If it is we who are refused, and not the question, or nothing was answered for long, the next one is asked
     * by a new client.
     */
    // the asker has the same future
    @SuppressWarnings("FutureReturnValueIgnored")
    <T> KafkaFuture<T> ask(Function<Admin, KafkaFuture<T>> question) {
        var asked = admin;
        var answer = question.apply(asked);
        answer.whenComplete((value, error) -> {
            var own = NetworkThread.calm();
            thread = own == null ? thread : own;
            var isSilent = isSilent(asked, error);
            if ((isSilent || has(AuthenticationException.class, error)) && isReplaced(asked, isSilent)) {
                asked.close(Duration.ZERO); // without the lock: its thread may wait for that in here
            }
        });
        return answer;
    }

    /** Some questions need an answer to another one first, and wrap what became of that. */
    private static boolean has(Class<? extends Throwable> kind, @Nullable Throwable error) {
        return Causes.of(error).stream().anyMatch(kind::isInstance);
    }

    /** Notes what became of a question: returns whether all have been late for too long. */
    private synchronized boolean isSilent(Admin asked, @Nullable Throwable error) {
        if (asked != admin) {
            return false;
        }
        if (!has(TimeoutException.class, error)) {
            lateSinceNanos = null;
            silenceNanos = SILENCE_NANOS;
            return false;
        }
        var now = clock.nanos();
        var since = lateSinceNanos == null ? now : lateSinceNanos;
        lateSinceNanos = since;
        return now - since >= silenceNanos;
    }

    private synchronized boolean isReplaced(Admin former, boolean wasSilent) {
        var now = clock.nanos();
        if (closed || former != admin || now - replacedNanos < PAUSE_NANOS) {
            return false;
        }
        replacedNanos = now;
        try {
            admin = connector.get();
            lateSinceNanos = null; // the new one has its whole time
            if (wasSilent) {
                silenceNanos = Math.min(2 * silenceNanos, LONGEST_SILENCE_NANOS);
            }
            return true;
        } catch (RuntimeException e) { // somebody may be writing its files
            log.debug("no new client could be made; trying again", e);
            return false;
        }
    }

    void close(Duration patience) {
        synchronized (this) {
            closed = true;
        }
        admin.close(patience);
    }
}

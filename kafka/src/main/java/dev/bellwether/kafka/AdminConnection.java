package dev.bellwether.kafka;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.AuthenticationException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the brokers about topics and groups, for all of a connection. A client of Kafka reads its certificates once,
 * when it is made: so one that is refused for them has a new one take its place, at most once a second.
 *
 * <p>Thread-safe.
 */
final class AdminConnection {
    private static final Logger log = LoggerFactory.getLogger(AdminConnection.class);
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<Admin> connector;
    private volatile Admin admin;
    private long replacedNanos = System.nanoTime() - PAUSE_NANOS;
    private boolean closed;

    AdminConnection(Supplier<Admin> connector) {
        this.connector = connector;
        admin = connector.get();
    }

    /** Asks. If it is we who are refused, and not the question, the next one is asked by a new client. */
    // the asker has the same future
    @SuppressWarnings("FutureReturnValueIgnored")
    <T> KafkaFuture<T> ask(Function<Admin, KafkaFuture<T>> question) {
        var asked = admin;
        var answer = question.apply(asked);
        answer.whenComplete((value, error) -> {
            if (isRefused(error) && isReplaced(asked)) {
                asked.close(Duration.ZERO); // without the lock: its thread may wait for that in here
            }
        });
        return answer;
    }

    /** Some questions need an answer to another one first, and wrap what became of that. */
    private static boolean isRefused(@Nullable Throwable error) {
        var cause = error;
        while (cause != null && !(cause instanceof AuthenticationException)) {
            cause = cause.getCause();
        }
        return cause != null;
    }

    private synchronized boolean isReplaced(Admin refused) {
        var now = System.nanoTime();
        if (closed || refused != admin || now - replacedNanos < PAUSE_NANOS) {
            return false;
        }
        replacedNanos = now;
        try {
            admin = connector.get();
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

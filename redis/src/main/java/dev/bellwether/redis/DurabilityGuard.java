package dev.bellwether.redis;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows whether the server that is asked now keeps what it has acknowledged. It may have been started again with other
 * settings, or be another one under the same name: so it is looked at on each connection, and again when somebody
 * stands. Thread-safe; only {@link #requireDurable} blocks, and for a moment only.
 */
final class DurabilityGuard {
    private static final Logger log = LoggerFactory.getLogger(DurabilityGuard.class);
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Who stands waits for a look until it is so old. */
    private static final long MOMENT_NANOS = TimeUnit.MILLISECONDS.toNanos(300);
    /** Of a leader that may have been lost, if nothing tells which lease it has. */
    private static final Duration UNKNOWN_LEASE = Duration.ofMinutes(1);

    private final RedisSettings settings;
    private final RedisConnection connection;
    private Look last; // guarded by this
    private RedisDoctor known; // by the last look that ended; guarded by this
    private @Nullable Long changedNanos; // since when it is durable or not, if that changed; guarded by this
    private long startedNanos; // when the server was that is known, at the latest; guarded by this

    /** One look at the server, over this connection. */
    private static final class Look {
        private final String session;
        private final CompletableFuture<RedisDoctor> found = new CompletableFuture<>();
        private final long begunNanos = System.nanoTime();
        private volatile long endedNanos;

        private Look(String session) {
            this.session = session;
        }

        private boolean isFresh() {
            return !found.isDone() || System.nanoTime() - endedNanos < FRESH_NANOS;
        }
    }

    /** Goes by what was found over this connection. */
    DurabilityGuard(RedisSettings settings, RedisConnection connection, String session, RedisDoctor found) {
        this.settings = settings;
        this.connection = connection;
        known = found;
        last = new Look(session);
        last.endedNanos = System.nanoTime();
        startedNanos = last.endedNanos - found.uptime().toNanos();
        last.found.complete(found);
        if (!settings.accepted()) {
            connection.onChange(this::look);
        }
    }

    /**
     * Refuses a server that may lose what it has acknowledged, unless the URI accepts that. Goes by a look that begins
     * now, if that ends in a moment, and otherwise by the last one that ended: nobody takes a seat before a look has
     * ended. A server that takes no connection is not refused: who stands there finds it out.
     *
     * @throws ElectionException saying what is wrong, and what would be right
     */
    void requireDurable() {
        if (settings.accepted()) {
            return;
        }
        RedisDoctor found;
        try {
            var look = look();
            var left = look.begunNanos + MOMENT_NANOS - System.nanoTime();
            found = look.found.get(Math.max(0, left), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            found = known();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            found = known();
        } catch (ExecutionException | RuntimeException e) {
            return; // who stands finds out why
        }
        found.requireDurable();
    }

    private synchronized RedisDoctor known() {
        return known;
    }

    /**
     * Returns the connection over which somebody may make the record of a seat that has none: on this server that means
     * that nobody ever held it, or that its leader leads no more. Fails if it does not, or if nobody can tell. It may
     * do so again later, so that ends no candidacy.
     *
     * @param lease of a leader that may have been lost; empty if unknown
     */
    CompletableFuture<String> durable(Duration timeout, Optional<Duration> lease) {
        var look = look();
        return look.found
                .copy()
                .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
                .handle((doctor, error) -> {
                    if (doctor == null) {
                        throw error.getCause() instanceof ElectionException said
                                ? said
                                : new UnavailableException(
                                        settings + " was not looked at within " + Durations.show(timeout), error);
                    }
                    if (!doctor.isDurable()) {
                        throw new UnavailableException(doctor.refusal());
                    }
                    requireDurableFor(lease, doctor.wasSwitchedOn());
                    return look.session;
                });
    }

    /**
     * While the server was not durable it may have lost the seat of a leader, which leads until its lease is over and
     * would not be seen. What it was before it was started, nobody who looks now can tell.
     *
     * <p>Where no lease is known, the time is long: so to have been started counts only if there is a sign that it was
     * not durable then.
     */
    private synchronized void requireDurableFor(Optional<Duration> lease, boolean wasSwitchedOn) {
        var least = lease.orElse(UNKNOWN_LEASE);
        var now = System.nanoTime();
        var changed = changedNanos != null && now - changedNanos < least.toNanos();
        var started = (lease.isPresent() || wasSwitchedOn) && now - startedNanos < least.toNanos();
        if (changed || started) {
            throw new UnavailableException(settings + " may have lost seats "
                    + (changed ? "until lately" : "when it was started, which was lately")
                    + ": a seat that has no record is free when the server has been right for "
                    + Durations.show(least));
        }
    }

    private Look look() {
        var session = connection.session();
        Look look;
        synchronized (this) {
            if (last.session.equals(session) && last.isFresh()) {
                return last;
            }
            look = new Look(session);
            last = look;
        }
        var unused = CompletableFuture.completedFuture(look) // what is thrown on the way is a failure of the look
                .thenCompose(begun -> RedisDoctor.ask(settings, connection))
                .thenApply(found -> noted(look, found))
                .whenComplete((found, error) -> {
                    look.endedNanos = System.nanoTime();
                    if (error == null) {
                        look.found.complete(found);
                    } else {
                        look.found.completeExceptionally(error.getCause() == null ? error : error.getCause());
                    }
                });
        return look;
    }

    private RedisDoctor noted(Look look, RedisDoctor found) {
        if (!look.session.equals(connection.session())) {
            throw new UnavailableException(settings + ": the connection broke while the server was looked at");
        }
        note(found);
        return found;
    }

    private void note(RedisDoctor found) {
        synchronized (this) {
            var wasDurable = known.isDurable();
            if (!found.run().equals(known.run())) { // otherwise its clock may have been set since
                startedNanos = System.nanoTime() - found.uptime().toNanos();
            }
            known = found;
            if (wasDurable == found.isDurable()) {
                return;
            }
            changedNanos = System.nanoTime();
        }
        if (found.isDurable()) {
            log.info("{} keeps what it has acknowledged again: candidates may stand", settings);
        } else {
            log.warn(
                    "{} has changed, and may lose what it has acknowledged. Nobody can stand from now on, and a seat"
                            + " that nobody ever held stays free. Candidates that stand already go on, and two of them"
                            + " may lead for a lease if it loses a seat: {}",
                    settings,
                    found.whatIsWrong());
        }
    }
}

package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RequestLimiter;
import io.nats.client.Message;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the server and makes of what it answers, or does not, what it means. Thread-safe; nothing here waits. */
final class Requests {
    private static final Logger log = LoggerFactory.getLogger(Requests.class);
    /** So many requests may be under way at a time, which is far less than a connection has room for. */
    private static final int MOST_UNDER_WAY = 500;

    private static final int WRONG_LAST_SEQUENCE = 10071;
    private static final int WRONG_LAST_SEQUENCE_CONSTANT = 10164;
    /** How a server says which revision the key is at. */
    private static final Pattern REVISION = Pattern.compile("sequence: (\\d+)");

    private final boolean owned;
    private final String description;
    private final PermissionErrors rights;
    private final ConnectionHealth signs;
    private final RequestLimiter limiter = new RequestLimiter(MOST_UNDER_WAY);

    Requests(boolean owned, String description, PermissionErrors rights, ConnectionHealth signs) {
        this.owned = owned;
        this.description = description;
        this.rights = rights;
        this.signs = signs;
    }

    /**
     * Asks, and returns what was answered, even if it is an error. The time begins with this call, though others may go
     * first.
     */
    CompletableFuture<Map<String, JsonValue>> ask(
            RequestLimiter.Urgency urgency, String subject, @Nullable Headers headers, byte[] body, Duration timeout) {
        var deadline = System.nanoTime() + timeout.toNanos();
        return limiter.pass(
                urgency,
                deadline,
                () -> send(subject, headers, body, Duration.ofNanos(Math.max(1, deadline - System.nanoTime()))),
                () -> new UnavailableException(description + ": " + subject + " was not asked within "
                        + Durations.show(timeout) + ", because too many others came first"));
    }

    /** Returns whether more is asked than is let through. */
    boolean isCrowded() {
        return limiter.isCrowded();
    }

    private CompletableFuture<Map<String, JsonValue>> send(
            String subject, @Nullable Headers headers, byte[] body, Duration timeout) {
        CompletableFuture<Message> reply;
        var asked = System.nanoTime();
        try {
            reply = signs.connection().requestWithTimeout(subject, headers, body, timeout);
        } catch (IllegalStateException | IllegalArgumentException e) {
            return CompletableFuture.failedFuture(signs.notConnected(e));
        }
        return rights.watched(subject, asked, reply)
                .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
                .handle((message, error) -> {
                    if (error != null && Causes.unwrapped(error) instanceof AccessRefusedException missing) {
                        if (rights.isDeaf()) {
                            signs.deaf();
                        }
                        throw new AccessRefusedException(description + " " + missing.getMessage());
                    }
                    if (message == null || message.isStatusMessage()) {
                        throw unanswered(subject, timeout, asked, error);
                    }
                    signs.heard();
                    try {
                        var parsed = JsonParser.parse(message.getData()).map;
                        return parsed == null ? Map.<String, JsonValue>of() : parsed;
                    } catch (JsonParseException e) {
                        throw new UnavailableException(
                                description + " answered on " + subject + " with what is no JSON", e);
                    }
                });
    }

    /** The client cancels what was not answered in time, and also what nobody was there to answer. */
    private UnavailableException unanswered(
            String subject, Duration timeout, long askedNanos, @Nullable Throwable error) {
        var late = System.nanoTime() - askedNanos >= timeout.toNanos() - TimeUnit.MILLISECONDS.toNanos(1);
        if (late) {
            signs.unheard();
            return new UnavailableException(
                    description + " did not answer on " + subject + " within " + Durations.show(timeout)
                            + (owned ? "" : ", or we may not publish to that"),
                    error);
        }
        signs.heard();
        return new UnavailableException(
                description + " has nobody to answer on " + subject
                        + ": JetStream is off there, or the bucket is gone or has no leader",
                error);
    }

    /** Returns what an error in an answer means: of a write, that nobody knows whether it was carried out. */
    RuntimeException failure(String what, JsonValue error) {
        var map = error.map == null ? Map.<String, JsonValue>of() : error.map;
        var code = (int) Replies.number(map.get("err_code"));
        var said = description + " could not " + what + ": " + Replies.text(map.get("description")) + " (" + code + ")";
        if (code == WRONG_LAST_SEQUENCE || code == WRONG_LAST_SEQUENCE_CONSTANT) {
            var revision = REVISION.matcher(said);
            return new BucketClient.Outdated(said, revision.find() ? Long.parseLong(revision.group(1)) : -1);
        }
        log.debug("{}", said); // each candidate's at each try; the log of outages tells the reason once
        return new UnavailableException(said);
    }
}

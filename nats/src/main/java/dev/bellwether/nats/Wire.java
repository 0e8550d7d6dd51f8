package dev.bellwether.nats;

import dev.bellwether.UnavailableException;
import io.nats.client.Connection;
import io.nats.client.ForceReconnectOptions;
import io.nats.client.JetStreamOptions;
import io.nats.client.Message;
import io.nats.client.Options;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The requests that elections make of one bucket. Thread-safe; nothing here waits.
 *
 * <p>Reads go to the leader of the stream and not, as {@code get} of a bucket may, to any replica. What comes of a request is a
 * value, {@link Outdated}, or unknown, which is an {@link UnavailableException}.
 */
final class Wire implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Wire.class);
    private static final String EXPECTED = "Nats-Expected-Last-Subject-Sequence";
    private static final int NO_MESSAGE = 10037;
    private static final int WRONG_LAST_SEQUENCE = 10071;
    private static final int WRONG_LAST_SEQUENCE_CONSTANT = 10164;
    private static final Duration SIGN_OF_LIFE = Duration.ofSeconds(1);
    private static final long RECONNECT_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Connection connection;
    private final boolean owned;
    private final String description;
    private final String apiPrefix;
    private final String keyPrefix;
    private final String subjectPrefix;
    private final String stream;
    private final JetStreamOptions options;
    private volatile Runnable onSilence = () -> {};
    private final AtomicInteger silent = new AtomicInteger();
    private final AtomicLong reconnectedNanos = new AtomicLong(System.nanoTime() - RECONNECT_PAUSE_NANOS);

    /** The record is no longer at the revision that the request named; or so the server says. */
    static final class Outdated extends RuntimeException {
        private static final long serialVersionUID = 1;

        Outdated(String message) {
            super(message, null, false, false);
        }
    }

    /**
     * What the server tells of the stream.
     *
     * @param keys the keys that were asked for
     * @param now the server's clock, or, of a server that does not tell it, when it last wrote something
     * @param created when the stream was made
     */
    record Overview(Map<String, Long> keys, Optional<Instant> now, Instant lastWritten, String created) {}

    private Wire(Connection connection, boolean owned, String description, NatsConfig config) {
        this.connection = connection;
        this.owned = owned;
        this.description = description;
        var builder = JetStreamOptions.builder().requestTimeout(Duration.ofSeconds(2));
        config.domain().ifPresent(builder::domain);
        config.prefix().ifPresent(builder::prefix);
        options = builder.build();
        apiPrefix = options.getPrefix();
        stream = "KV_" + config.bucket();
        keyPrefix = "$KV." + config.bucket() + '.';
        subjectPrefix = options.isDefaultPrefix() ? keyPrefix : apiPrefix + keyPrefix;
    }

    /** Uses a connection of the user's. */
    static Wire of(Connection connection, NatsConfig config) {
        var url = Optional.ofNullable(connection.getConnectedUrl()).orElse("nats:");
        var shown = url.replaceFirst("//[^/]*@", "//***@");
        return new Wire(connection, false, shown + "?bucket=" + config.bucket(), config);
    }

    /** Uses a connection that is closed with this. */
    static Wire owning(Connection connection, String description, NatsConfig config) {
        return new Wire(connection, true, description, config);
    }

    Connection connection() {
        return connection;
    }

    JetStreamOptions options() {
        return options;
    }

    String stream() {
        return stream;
    }

    /** Returns the subject under which the stream keeps a key. */
    String storedSubject(String key) {
        return keyPrefix + key;
    }

    String key(String subject) {
        return subject.startsWith(keyPrefix) ? subject.substring(keyPrefix.length()) : subject;
    }

    // ---------------------------------------------------------------- verbs

    /** Writes a record if the key is at this revision, 0 for none; returns the new revision. */
    CompletableFuture<Long> write(String key, Headers headers, byte[] body, long expected, Duration timeout) {
        headers.put(EXPECTED, Long.toString(expected));
        return put(key, headers, body, timeout);
    }

    /** Writes whatever is there. */
    CompletableFuture<Long> put(String key, Headers headers, byte[] body, Duration timeout) {
        return ask(subjectPrefix + key, headers, body, timeout).thenApply(reply -> {
            var error = reply.get("error");
            if (error != null) {
                throw failure("write " + key, error);
            }
            var revision = Format.number(reply.get("seq"));
            if (revision <= 0) {
                throw new UnavailableException(this + " acknowledged a write without saying which");
            }
            return revision;
        });
    }

    /** Reads the last message of a key, be it a marker. */
    CompletableFuture<Optional<Found>> read(String key, Duration timeout) {
        var body = new JsonValue(Map.of("last_by_subj", new JsonValue(storedSubject(key)))).toJson();
        return ask(apiPrefix + "STREAM.MSG.GET." + stream, null, body.getBytes(StandardCharsets.UTF_8), timeout)
                .thenApply(reply -> {
                    var error = reply.get("error");
                    if (error != null) {
                        if (Format.number(error.map == null ? null : error.map.get("err_code")) == NO_MESSAGE) {
                            return Optional.empty();
                        }
                        throw failure("read " + key, error);
                    }
                    var message = reply.get("message");
                    if (message == null || message.map == null) {
                        throw new UnavailableException(
                                this + " answered a reading of " + key + " with neither a" + " message nor an error");
                    }
                    return Optional.of(found(key, message.map));
                });
    }

    /** Lists the keys of this pattern. */
    CompletableFuture<Overview> overview(String pattern, Duration timeout) {
        var body = new JsonValue(Map.of("subjects_filter", new JsonValue(storedSubject(pattern)))).toJson();
        return ask(apiPrefix + "STREAM.INFO." + stream, null, body.getBytes(StandardCharsets.UTF_8), timeout)
                .thenApply(reply -> {
                    var error = reply.get("error");
                    if (error != null) {
                        throw failure("list " + pattern, error);
                    }
                    var state = reply.get("state");
                    var stateMap = state == null || state.map == null ? Map.<String, JsonValue>of() : state.map;
                    var keys = new TreeMap<String, Long>();
                    var subjects = stateMap.get("subjects");
                    if (subjects != null && subjects.map != null) {
                        subjects.map.forEach((subject, count) -> keys.put(key(subject), Format.number(count)));
                    }
                    return new Overview(
                            keys,
                            instant(Format.text(reply.get("ts"))),
                            instant(Format.text(stateMap.get("last_ts"))).orElse(Instant.EPOCH),
                            instant(Format.text(reply.get("created")))
                                    .map(Instant::toString)
                                    .orElse(""));
                });
    }

    /** Takes a key away, without leaving a marker. */
    CompletableFuture<Boolean> purge(String key, Duration timeout) {
        var body = new JsonValue(Map.of("filter", new JsonValue(storedSubject(key)))).toJson();
        return ask(apiPrefix + "STREAM.PURGE." + stream, null, body.getBytes(StandardCharsets.UTF_8), timeout)
                .thenApply(reply -> {
                    var error = reply.get("error");
                    if (error != null) {
                        throw failure("purge " + key, error);
                    }
                    return true;
                });
    }

    // ---------------------------------------------------------------- the way there and back

    private CompletableFuture<Map<String, JsonValue>> ask(
            String subject, @Nullable Headers headers, byte[] body, Duration timeout) {
        CompletableFuture<Message> reply;
        try {
            reply = connection.requestWithTimeout(subject, headers, body, timeout);
        } catch (IllegalStateException | IllegalArgumentException e) {
            return CompletableFuture.failedFuture(
                    new UnavailableException(this + " is not connected: " + e.getMessage(), e));
        }
        var asked = System.nanoTime();
        return reply.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS).handle((message, error) -> {
            if (message == null || message.isStatusMessage()) {
                // the client cancels what was not answered in time, and also what nobody was there to answer
                var late = System.nanoTime() - asked >= timeout.toNanos() - TimeUnit.MILLISECONDS.toNanos(1);
                silent.updateAndGet(count -> late ? count + 1 : 0);
                if (late) {
                    onSilence.run();
                }
                throw new UnavailableException(
                        this
                                + (late
                                        ? " did not answer on " + subject + " within " + timeout
                                        : " has nobody to answer on " + subject
                                                + ": JetStream is off there, or the bucket is gone or has no leader"),
                        error);
            }
            silent.set(0);
            try {
                var parsed = JsonParser.parse(message.getData()).map;
                return parsed == null ? Map.<String, JsonValue>of() : parsed;
            } catch (JsonParseException e) {
                throw new UnavailableException(this + " answered on " + subject + " with what is no JSON", e);
            }
        });
    }

    private RuntimeException failure(String what, JsonValue error) {
        var map = error.map == null ? Map.<String, JsonValue>of() : error.map;
        var code = (int) Format.number(map.get("err_code"));
        var said = this + " could not " + what + ": " + Format.text(map.get("description")) + " (" + code + ")";
        if (code == WRONG_LAST_SEQUENCE || code == WRONG_LAST_SEQUENCE_CONSTANT) {
            return new Outdated(said);
        }
        log.warn("{}; whether it was done is unknown", said);
        return new UnavailableException(said);
    }

    /** Calls this, on any thread, when a request went unanswered. */
    void onSilence(Runnable onSilence) {
        this.onSilence = onSilence;
    }

    /** Returns whether a request of late went unanswered, so that it is worth looking whether the connection is dead. */
    boolean seemsDead() {
        return owned
                && silent.get() > 0
                && connection.getStatus() == Connection.Status.CONNECTED
                && System.nanoTime() - reconnectedNanos.get() > RECONNECT_PAUSE_NANOS;
    }

    /** Asks the server for a sign; without one, connects anew, to another server if there is one. Waits. */
    void reconnectIfDead() {
        try {
            connection.flush(SIGN_OF_LIFE);
            silent.set(0);
        } catch (TimeoutException e) {
            log.info("{} gives no sign of life; connecting anew", this);
            reconnect();
        } catch (IllegalStateException e) {
            log.debug("{}: {}", this, e.getMessage()); // it is connecting already, or closed
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void reconnect() {
        reconnectedNanos.set(System.nanoTime());
        silent.set(0);
        try {
            connection.forceReconnect(ForceReconnectOptions.FORCE_CLOSE_INSTANCE);
        } catch (IOException e) {
            log.debug("{}: {}", this, e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether the server announced this version or a newer one. */
    boolean serverIsAtLeast(String version) {
        return connection.getServerInfo().isSameOrNewerThanVersion(version);
    }

    private Found found(String key, Map<String, JsonValue> message) {
        var headers = Format.text(message.get("hdrs"));
        return new Found(
                key,
                Format.number(message.get("seq")),
                instant(Format.text(message.get("time"))).orElse(Instant.EPOCH),
                headers.isEmpty() ? null : parse(Base64.getDecoder().decode(headers)),
                new String(Base64.getDecoder().decode(Format.text(message.get("data"))), StandardCharsets.UTF_8));
    }

    private static Headers parse(byte[] block) {
        var headers = new Headers();
        var lines = new String(block, StandardCharsets.UTF_8).split("\r\n", -1);
        for (var i = 1; i < lines.length; i++) {
            var colon = lines[i].indexOf(':');
            if (colon > 0) {
                headers.add(
                        lines[i].substring(0, colon),
                        lines[i].substring(colon + 1).strip());
            }
        }
        return headers;
    }

    private static Optional<Instant> instant(String text) {
        try {
            return text.isEmpty() ? Optional.empty() : Optional.of(Instant.parse(text));
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        if (owned) {
            try {
                connection.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static Options.Builder ourOptions() {
        return Options.builder()
                .maxReconnects(-1)
                .reconnectWait(Duration.ofMillis(100))
                .reconnectJitter(Duration.ofMillis(50))
                .connectionTimeout(Duration.ofSeconds(2))
                .pingInterval(Duration.ofSeconds(10))
                .requestCleanupInterval(Duration.ofSeconds(1))
                .reconnectBufferSize(0); // what cannot be sent has failed: it is not to be sent much later
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return description;
    }
}

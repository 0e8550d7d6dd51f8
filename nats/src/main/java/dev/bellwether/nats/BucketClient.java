package dev.bellwether.nats;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.RequestLimiter.Urgency;
import io.nats.client.Connection;
import io.nats.client.JetStreamOptions;
import io.nats.client.Options;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonValue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * The requests that elections make of one bucket. Thread-safe; nothing here waits.
 *
 * <p>Reads go to the leader of the stream and not, as {@code get} of a bucket may, to any replica. What comes of a
 * request is a value, {@link Outdated}, or unknown, which is an {@link UnavailableException}.
 */
final class BucketClient implements AutoCloseable {
    private static final String EXPECTED = "Nats-Expected-Last-Subject-Sequence";
    private static final int NO_MESSAGE = 10037;

    private final boolean owned;
    private final String description;
    private final String apiPrefix;
    private final String keyPrefix;
    private final String subjectPrefix;
    private final String stream;
    private final JetStreamOptions options;
    private final PermissionErrors rights;
    private final ConnectionHealth signs;
    private final Requests requests;

    /** The record is no longer at the revision that the request named; or so the server says. */
    static final class Outdated extends RuntimeException {
        private static final long serialVersionUID = 1;

        /** Where it is, 0 if there is none; negative if the server did not say. */
        private final long revision;

        Outdated(String message, long revision) {
            super(message, null, false, false);
            this.revision = revision;
        }

        long revision() {
            return revision;
        }
    }

    /**
     * What the server tells of the stream.
     *
     * @param keys the keys that were asked for
     * @param now the server's clock, or, of a server that does not tell it, when it last wrote something
     * @param lastSequence the highest revision that it has given
     * @param created when the stream was made
     */
    record Overview(
            Map<String, Long> keys, Optional<Instant> now, Instant lastWritten, long lastSequence, String created) {}

    private BucketClient(
            Connection connection, boolean owned, String description, NatsConfig config, PermissionErrors rights) {
        this.owned = owned;
        this.description = description;
        this.rights = rights;
        signs = new ConnectionHealth(connection, owned, description);
        requests = new Requests(owned, description, rights, signs);
        var builder = JetStreamOptions.builder().requestTimeout(Duration.ofSeconds(2));
        config.domain().ifPresent(builder::domain);
        config.prefix().ifPresent(builder::prefix);
        options = builder.build();
        apiPrefix = options.getPrefix();
        stream = "KV_" + config.bucket();
        keyPrefix = "$KV." + config.bucket() + '.';
        // Choria's accounts import the keys under the names that they have
        var plain =
                options.isDefaultPrefix() || (config.choria() && config.prefix().isPresent());
        subjectPrefix = plain ? keyPrefix : apiPrefix + keyPrefix;
    }

    /** Uses a connection of the user's. */
    static BucketClient of(Connection connection, NatsConfig config) {
        var url = Optional.ofNullable(connection.getConnectedUrl()).orElse("nats:");
        var shown = url.replaceFirst("//[^/]*@", "//***@");
        return new BucketClient(
                connection, false, shown + "?bucket=" + config.bucket(), config, new PermissionErrors());
    }

    /** Uses a connection that is closed with this. */
    static BucketClient owning(Connection connection, String description, NatsConfig config) {
        return owning(connection, description, config, new PermissionErrors());
    }

    /** Uses a connection that is closed with this, and whose listener tells of missing rights. */
    static BucketClient owning(Connection connection, String description, NatsConfig config, PermissionErrors rights) {
        return new BucketClient(connection, true, description, config, rights);
    }

    /** Returns the present connection: one of ours may be replaced. */
    Connection connection() {
        return signs.connection();
    }

    JetStreamOptions options() {
        return options;
    }

    String stream() {
        return stream;
    }

    ConnectionHealth signs() {
        return signs;
    }

    /** Returns whether the connection is ours, so that we hear what the server says on it. */
    boolean isOwned() {
        return owned;
    }

    /**
     * Returns what tells this connection from others that were there before it, though they were made by the same
     * client.
     */
    String session() {
        var info = connection().getServerInfo();
        return info.getServerId() + '/' + info.getClientId();
    }

    /** Returns what right was found missing for requests of JetStream that begin like this. */
    Optional<String> missingRight(String request) {
        return rights.missing(apiPrefix + request);
    }

    /** Has this run each time that we may not have the server go on sending what is watched. */
    void onStalled(Runnable watch) {
        rights.onStalled(watch);
    }

    /** Takes it that such rights may have been granted since. */
    void forgetMissingRight(String request) {
        rights.forget(apiPrefix + request);
    }

    /** Returns the right to read records. */
    String rightToRead() {
        return apiPrefix + "STREAM.MSG.GET." + stream;
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
    CompletableFuture<Long> write(
            String key, Headers headers, byte[] body, long expected, Urgency urgency, Duration timeout) {
        headers.put(EXPECTED, Long.toString(expected));
        return put(urgency, key, headers, body, timeout);
    }

    /** Writes whatever is there, when there is nothing else to do. */
    CompletableFuture<Long> put(String key, Headers headers, byte[] body, Duration timeout) {
        return put(Urgency.LIST, key, headers, body, timeout);
    }

    private CompletableFuture<Long> put(Urgency urgency, String key, Headers headers, byte[] body, Duration timeout) {
        return requests.ask(urgency, subjectPrefix + key, headers, body, timeout)
                .thenApply(reply -> {
                    var error = reply.get("error");
                    if (error != null) {
                        throw requests.failure("write " + key, error);
                    }
                    var revision = Replies.number(reply.get("seq"));
                    if (revision <= 0) {
                        throw new UnavailableException(this + " acknowledged a write without saying which");
                    }
                    return revision;
                });
    }

    /** Reads the last message of a key, even if it is a marker. */
    CompletableFuture<Optional<StoredMessage>> read(String key, Urgency urgency, Duration timeout) {
        var body = new JsonValue(Map.of("last_by_subj", new JsonValue(storedSubject(key)))).toJson();
        return requests.ask(urgency, rightToRead(), null, body.getBytes(StandardCharsets.UTF_8), timeout)
                .thenApply(reply -> {
                    var error = reply.get("error");
                    if (error != null) {
                        if (Replies.number(error.map == null ? null : error.map.get("err_code")) == NO_MESSAGE) {
                            return Optional.empty();
                        }
                        throw requests.failure("read " + key, error);
                    }
                    var message = reply.get("message");
                    if (message == null || message.map == null) {
                        throw new UnavailableException(
                                this + " answered a reading of " + key + " with neither a" + " message nor an error");
                    }
                    return Optional.of(StoredMessage.of(key, message.map));
                });
    }

    /** Lists the keys of this pattern. */
    CompletableFuture<Overview> overview(String pattern, Duration timeout) {
        return ofStream("INFO", "subjects_filter", pattern, "list", timeout).thenApply(reply -> {
            var state = reply.get("state");
            var stateMap = state == null || state.map == null ? Map.<String, JsonValue>of() : state.map;
            var keys = new TreeMap<String, Long>();
            var subjects = stateMap.get("subjects");
            if (subjects != null && subjects.map != null) {
                subjects.map.forEach((subject, count) -> keys.put(key(subject), Replies.number(count)));
            }
            return new Overview(
                    keys,
                    StoredMessage.instant(Replies.text(reply.get("ts"))),
                    StoredMessage.instant(Replies.text(stateMap.get("last_ts"))).orElse(Instant.EPOCH),
                    Replies.number(stateMap.get("last_seq")),
                    StoredMessage.instant(Replies.text(reply.get("created")))
                            .map(Instant::toString)
                            .orElse(""));
        });
    }

    /** Takes a key away, without leaving a marker. */
    CompletableFuture<Boolean> purge(String key, Duration timeout) {
        return ofStream("PURGE", "filter", key, "purge", timeout).thenApply(reply -> true);
    }

    /**
     * Makes a request of the stream about the keys of a pattern, when there is nothing else to do; an error in the
     * answer fails it.
     */
    private CompletableFuture<Map<String, JsonValue>> ofStream(
            String request, String field, String pattern, String what, Duration timeout) {
        var body = new JsonValue(Map.of(field, new JsonValue(storedSubject(pattern)))).toJson();
        return requests.ask(
                        Urgency.LIST,
                        apiPrefix + "STREAM." + request + '.' + stream,
                        null,
                        body.getBytes(StandardCharsets.UTF_8),
                        timeout)
                .thenApply(reply -> {
                    var error = reply.get("error");
                    if (error != null) {
                        throw requests.failure(what + ' ' + pattern, error);
                    }
                    return reply;
                });
    }

    // ---------------------------------------------------------------- small things

    /** Returns whether requests are waiting for others. */
    boolean isCrowded() {
        return requests.isCrowded();
    }

    /** Returns whether the server announced this version or a newer one. */
    boolean serverIsAtLeast(String version) {
        return connection().getServerInfo().isSameOrNewerThanVersion(version);
    }

    @Override
    public void close() {
        if (owned) {
            try {
                signs.close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static Options.Builder ourOptions() {
        return Options.builder()
                .executor(ConnectionThread.executor("bellwether"))
                .maxReconnects(-1)
                .reconnectWait(Duration.ofMillis(100))
                .reconnectJitter(Duration.ofMillis(50))
                .connectionTimeout(Duration.ofSeconds(2))
                .pingInterval(Duration.ofSeconds(10))
                .requestCleanupInterval(Duration.ofSeconds(1))
                .dontForceFlushOnRequest() // else each is written by itself; the writer does not wait for more to come
                .reconnectBufferSize(0); // what cannot be sent has failed: it is not to be sent much later
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return description;
    }
}

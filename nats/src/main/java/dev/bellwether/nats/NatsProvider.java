package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.TlsStores;
import io.nats.client.AuthenticationException;
import io.nats.client.Connection;
import io.nats.client.ConnectionListener;
import io.nats.client.Consumer;
import io.nats.client.ErrorListener;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Knows {@code nats:} and {@code tls:} URIs. */
public final class NatsProvider implements ElectionsProvider {
    private static final Duration LOOK = Duration.ofMillis(300);
    private static final int MANY = 100;
    private static final Logger log = LoggerFactory.getLogger(NatsProvider.class);

    /** For {@link java.util.ServiceLoader}. */
    public NatsProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("nats", "tls");
    }

    @Override
    public void check(ConnectUri uri) {
        uri.requireKnown(NatsConfig.PARAMETERS);
        requireHosts(uri);
        config(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        check(uri);
        var config = config(uri);
        var rights = new PermissionErrors();
        var client = BucketClient.owning(open(uri, rights), uri.toString(), config, rights);
        try {
            return LeaseStore.over(NatsRecordStore.open(client, config));
        } catch (RuntimeException | Error e) { // the last may find no thread
            client.close();
            throw e;
        }
    }

    static NatsConfig config(ConnectUri uri) {
        var builder = NatsConfig.builder();
        uri.parameter("bucket").ifPresent(builder::bucket);
        uri.flag("create").ifPresent(builder::create);
        uri.number("replicas", 0, 99).ifPresent(builder::replicas);
        uri.duration("ttl").ifPresent(builder::ttl);
        uri.duration("presence").ifPresent(builder::presence);
        uri.duration("backoff").ifPresent(builder::backoff);
        uri.number("sharing", 0, RecordTraits.MOST).ifPresent(builder::sharing);
        uri.flag("choria").ifPresent(builder::choria);
        uri.parameter("domain").ifPresent(builder::domain);
        uri.parameter("prefix").ifPresent(builder::prefix);
        return builder.build();
    }

    private static void requireHosts(ConnectUri uri) {
        if (uri.authority().isBlank() || !(uri.path().isEmpty() || uri.path().equals("/"))) {
            throw new ElectionException(
                    uri + " must be of the form nats://host:4222?bucket=NAME, or with several hosts,"
                            + " separated by commas");
        }
    }

    private static Connection open(ConnectUri uri, PermissionErrors rights) {
        var listener = new Listener(uri, rights);
        try {
            requireReadableCredentials(uri);
            return Nats.connect(options(uri, listener));
        } catch (AuthenticationException e) {
            throw new AccessRefusedException(
                    uri + ": authentication failed: check user, password, token or credentials (it said: "
                            + uri.redact(String.valueOf(e.getMessage())) + ")",
                    e);
        } catch (IOException e) {
            throw unreachable(uri, listener.lastFailure, e);
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new ElectionException(uri + ": " + uri.redact(reason(e)), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while connecting to " + uri, e);
        }
    }

    /** The client says only that it could not connect; what the matter was, its listener heard. */
    private static RuntimeException unreachable(ConnectUri uri, @Nullable Exception last, IOException e) {
        for (var cause : Causes.of(last)) {
            if (cause instanceof SSLHandshakeException || cause instanceof GeneralSecurityException) {
                return new ElectionException(
                        uri + " and we do not agree on TLS: check truststore and keystore, and that the server's"
                                + " certificate is for the host that the URI names (it said: "
                                + uri.redact(reason(cause)) + ")",
                        e);
            }
        }
        var said = String.valueOf(e.getMessage());
        if (said.contains("SSL required") || (last != null && reason(last).contains("SSL required"))) {
            return new ElectionException(uri + " wants TLS: write tls: for nats:, or tls=true", e);
        }
        return new UnavailableException("cannot reach " + uri + ": " + Endpoint.complaints(Endpoint.of(uri), LOOK), e);
    }

    /** Returns the message of what lies deepest. */
    private static String reason(Throwable error) {
        var deepest = Causes.root(error);
        return Optional.ofNullable(deepest.getMessage())
                .orElse(deepest.getClass().getSimpleName());
    }

    private static void requireReadableCredentials(ConnectUri uri) {
        uri.parameter("credentials").ifPresent(file -> {
            if (!Files.isReadable(Path.of(file))) {
                throw new ElectionException(uri + ": the file that credentials names cannot be read");
            }
        });
    }

    private static Options options(ConnectUri uri, Listener listener) {
        var secure = uri.scheme().equals("tls") || uri.flag("tls").orElse(false);
        var servers = Arrays.stream(uri.authority().split(",", -1))
                .map(host -> (secure ? "tls://" : "nats://") + host.strip())
                .toArray(String[]::new);
        var builder = BucketClient.ourOptions()
                .servers(servers)
                .connectionName("bellwether")
                .connectionListener(listener)
                .errorListener(listener);
        uri.userInfo().ifPresent(info -> {
            var colon = info.indexOf(':');
            if (colon < 0) {
                builder.token(info.toCharArray());
            } else {
                builder.userInfo(
                        info.substring(0, colon).toCharArray(),
                        info.substring(colon + 1).toCharArray());
            }
        });
        uri.parameter("credentials").ifPresent(builder::credentialPath);
        uri.parameter("inbox").ifPresent(builder::inboxPrefix);
        if (secure || TlsStores.areIn(uri)) {
            NatsTls.of(uri).applyTo(builder);
        }
        return builder.build();
    }

    /** Logs what the connection tells of itself. Thread-safe. */
    static final class Listener implements ConnectionListener, ErrorListener {
        private final ConnectUri uri;
        private final PermissionErrors rights;
        private final Set<String> told = ConcurrentHashMap.newKeySet(); // since it was connected
        private volatile @Nullable Exception lastFailure;

        Listener(ConnectUri uri, PermissionErrors rights) {
            this.uri = uri;
            this.rights = rights;
        }

        @Override
        @SuppressWarnings("deprecation") // the other method has a default, this one has not
        public void connectionEvent(Connection connection, Events type) {
            if (type == Events.CONNECTED || type == Events.RECONNECTED) {
                rights.forget();
                told.clear();
            }
            log.debug("{}: {}", uri, type);
        }

        @Override
        public void errorOccurred(Connection connection, String error) {
            var said = Optional.ofNullable(error).orElse("");
            if (rights.heard(said) || (connection.getStatus() != Connection.Status.CONNECTED && !isNew(said))) {
                log.debug("{} said: {}", uri, uri.redact(said)); // who asked says what it means
            } else {
                log.warn("{} said: {}", uri, uri.redact(said));
            }
        }

        /** A server may say it at each attempt to connect again. While we are connected, each time is another case. */
        private boolean isNew(String said) {
            return told.size() >= MANY || told.add(said);
        }

        @Override
        public void exceptionOccurred(Connection connection, Exception exception) {
            lastFailure = exception;
            log.debug("{}: {}", uri, uri.redact(String.valueOf(exception)));
        }

        @Override
        public void slowConsumerDetected(Connection connection, Consumer consumer) {
            log.warn("{}: this process reads too slowly, and notices of changes come late", uri);
        }
    }
}

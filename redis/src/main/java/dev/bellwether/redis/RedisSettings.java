package dev.bellwether.redis;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.TlsStores;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * What a {@code redis:} URI says. Immutable.
 *
 * @param server where it is, and who we are
 * @param channels what the name of every channel ends with: channels are for all databases of a server
 * @param prefix of all keys, without the colon
 * @param accepted whether a server that may lose what it has acknowledged is used anyway
 */
record RedisSettings(
        ConnectUri uri, RedisURI server, String channels, String prefix, RecordTraits traits, boolean accepted) {
    static final Set<String> SCHEMES = Set.of("redis", "rediss", "valkey", "valkeys");
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final int MOST_DATABASES = 100_000;

    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static RedisSettings of(ConnectUri uri) {
        uri.requireKnown(List.of("prefix", "durability"), RecordTraits.PARAMETERS, TlsStores.PARAMETERS);
        var durability = uri.parameter("durability").orElse("required");
        if (!durability.equals("required") && !durability.equals("accepted")) {
            throw new ElectionException(uri.redact("durability is \"" + durability + "\" in " + uri
                    + ": write durability=accepted to use a server that may lose what it has acknowledged, or leave it"
                    + " out"));
        }
        var prefix = uri.parameter("prefix").orElse("bellwether");
        var secure = uri.scheme().endsWith("s") && !uri.scheme().equals("redis");
        if (prefix.isBlank() || (!secure && TlsStores.areIn(uri))) {
            throw new ElectionException(
                    prefix.isBlank()
                            ? "the prefix in " + uri + " is empty: leave it out, or name one"
                            : uri + " names certificates and speaks no TLS: write rediss://, or leave them out");
        }
        var database = database(uri);
        return new RedisSettings(
                uri,
                server(uri, secure, database),
                "@" + database,
                prefix,
                RecordTraits.of(uri),
                durability.equals("accepted"));
    }

    private static RedisURI server(ConnectUri uri, boolean secure, int database) {
        var endpoints = Endpoint.of(uri);
        var info = uri.userInfo().orElse(":").split(":", 2);
        if (endpoints.size() != 1 || info.length < 2) {
            throw wrong(uri);
        }
        var server = RedisURI.builder()
                .withHost(endpoints.get(0).host())
                .withPort(endpoints.get(0).port())
                .withSsl(secure)
                .withDatabase(database)
                .withTimeout(PATIENCE);
        if (!info[0].isEmpty()) {
            server.withAuthentication(info[0], info[1].toCharArray());
        } else if (!info[1].isEmpty()) {
            server.withPassword(info[1].toCharArray());
        }
        return server.build();
    }

    private static int database(ConnectUri uri) {
        var path = uri.path().replaceAll("^/|/$", "");
        if (!path.matches("[0-9]{0,5}")) {
            throw wrong(uri);
        }
        return path.isEmpty() ? 0 : Math.min(MOST_DATABASES, Integer.parseInt(path));
    }

    private static ElectionException wrong(ConnectUri uri) {
        return new ElectionException(uri + " must be of the form redis://host:6379, or rediss:// with TLS, of one"
                + " server, with user:password@ or :password@ before it, the number of a database as the path, and the"
                + " prefix of all keys as ?prefix=");
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}

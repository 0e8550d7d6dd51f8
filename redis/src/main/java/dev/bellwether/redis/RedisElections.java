package dev.bellwether.redis;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.TlsStores;
import io.lettuce.core.RedisClient;

/**
 * Elections on Valkey or Redis over a client that the application has already: with its own threads, its own TLS.
 *
 * <p>Without one, {@link Elections#connect(String)} with a {@code redis:} URI does all that is needed.
 */
public final class RedisElections {
    private RedisElections() {}

    /** Holds elections with default settings. */
    public static Elections using(RedisClient client, String uri) {
        return using(client, uri, ElectionsConfig.defaults());
    }

    /**
     * Holds elections on the server and under the prefix that the URI names, over two connections of their own that
     * this client makes. The client is the caller's to shut down.
     *
     * @param uri such as {@code redis://app:${env:VALKEY_PASSWORD}@valkey:6379/0?prefix=elections}
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix, saying what
     * @throws dev.bellwether.UnavailableException if the server does not answer
     */
    public static Elections using(RedisClient client, String uri, ElectionsConfig config) {
        var parsed = ConnectUri.parse(uri);
        TlsStores.requireNoneIn(parsed);
        return Elections.over(
                parsed + " by the given client",
                () -> LeaseStore.over(RedisRecordStore.open(RedisSettings.of(parsed), client, () -> {})),
                config);
    }
}

package dev.bellwether.redis;

import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.TlsStores;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import java.time.Duration;
import java.util.Set;

/** Knows {@code redis:} and {@code rediss:} URIs; {@code valkey:} and {@code valkeys:} are the same. */
public final class RedisProvider implements ElectionsProvider {
    private static final int THREADS = 2;

    /** For {@link java.util.ServiceLoader}. */
    public RedisProvider() {}

    @Override
    public Set<String> schemes() {
        return RedisSettings.SCHEMES;
    }

    @Override
    public void check(ConnectUri uri) {
        RedisSettings.of(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        var settings = RedisSettings.of(uri);
        var client = client(settings);
        try {
            return LeaseStore.over(RedisRecordStore.open(settings, client, () -> shutDown(client)));
        } catch (RuntimeException | Error e) {
            shutDown(client);
            throw e;
        }
    }

    /** Threads for all that this process connects to: daemons that cost nothing while nothing happens. */
    private static final class Shared {
        private static final ClientResources RESOURCES = DefaultClientResources.builder()
                .ioThreadPoolSize(THREADS)
                .computationThreadPoolSize(THREADS)
                .build();
    }

    /** A connection that breaks is not made again by the client, which would send again what had no answer. */
    private static RedisClient client(RedisSettings settings) {
        var options = ClientOptions.builder()
                .autoReconnect(false)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(Duration.ofSeconds(2))
                        .keepAlive(true)
                        .build());
        if (settings.server().isSsl()) {
            var stores = TlsStores.of(settings.uri());
            options.sslOptions(SslOptions.builder()
                    .jdkSslProvider()
                    .trustManager(stores.trust())
                    .keyManager(stores.keys())
                    .build());
        }
        var client = RedisClient.create(Shared.RESOURCES);
        client.setOptions(options.build());
        return client;
    }

    private static void shutDown(RedisClient client) {
        var unused = client.shutdownAsync();
    }
}

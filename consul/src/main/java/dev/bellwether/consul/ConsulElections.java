package dev.bellwether.consul;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.TlsStores;
import java.net.http.HttpClient;

/**
 * Elections on Consul over an HTTP client that the application has already: with its own TLS, its own threads.
 *
 * <p>Without one, {@link Elections#connect(String)} with a {@code consul:} URI does all that is needed.
 */
public final class ConsulElections {
    private ConsulElections() {}

    /** Holds elections with default settings. */
    public static Elections using(HttpClient client, String uri) {
        return using(client, uri, ElectionsConfig.defaults());
    }

    /**
     * Holds elections under the prefix that the URI names, at the agents that it names. Its {@code tls=true} means that
     * they are spoken to by the TLS of this client. The client is the caller's to close.
     *
     * @param uri such as {@code consul://localhost:8500/elections?token=${env:CONSUL_HTTP_TOKEN}}
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix, saying what
     * @throws dev.bellwether.UnavailableException if no agent answers
     */
    public static Elections using(HttpClient client, String uri, ElectionsConfig config) {
        var parsed = ConnectUri.parse(uri);
        TlsStores.requireNoneIn(parsed);
        return Elections.over(
                parsed + " by the given client",
                () -> LeaseStore.over(ConsulRecordStore.open(ConsulSettings.of(parsed), ReplaceableClient.of(client))),
                config);
    }
}

package dev.bellwether.etcd;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.TlsStores;
import java.net.http.HttpClient;

/**
 * Elections on etcd over an HTTP client that the application has already: with its own TLS, its own threads.
 *
 * <p>Without one, {@link Elections#connect(String)} with an {@code etcd:} URI does all that is needed.
 */
public final class EtcdElections {
    private EtcdElections() {}

    /** Holds elections with default settings. */
    public static Elections using(HttpClient client, String uri) {
        return using(client, uri, ElectionsConfig.defaults());
    }

    /**
     * Holds elections under the prefix that the URI names, on the members that it names. Its {@code tls=true} means
     * that they are spoken to by the TLS of this client. The client is the caller's to close.
     *
     * @param uri such as {@code etcd://app:${env:ETCD_PASSWORD}@e1:2379,e2:2379/elections?tls=true}
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix, saying what
     * @throws dev.bellwether.UnavailableException if no member answers
     */
    // tag::using
    public static Elections using(HttpClient client, String uri, ElectionsConfig config) {
        var parsed = ConnectUri.parse(uri);
        TlsStores.requireNoneIn(parsed);
        return Elections.over(
                parsed + " by the given client",
                () -> LeaseStore.over(EtcdRecordStore.open(EtcdSettings.of(parsed), ReplaceableClient.of(client))),
                config);
    }
    // end::using
}

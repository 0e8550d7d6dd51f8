package dev.bellwether.kubernetes;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import java.net.http.HttpClient;

/**
 * Elections on Kubernetes over an HTTP client that the application has already: with its own TLS, its own threads, its
 * own proxy.
 *
 * <p>Without one, {@link Elections#connect(String)} with a {@code k8s:} URI does all that is needed.
 */
public final class KubernetesElections {
    private KubernetesElections() {}

    /** Holds elections with default settings. */
    public static Elections using(HttpClient client, String uri) {
        return using(client, uri, ElectionsConfig.defaults());
    }

    /**
     * Holds elections in the namespace that the URI names, at the API server that it leads to and with the token found
     * there. Certificates are those of this client. The client is the caller's to close.
     *
     * @param uri such as {@code k8s:payments}
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix, saying what
     * @throws dev.bellwether.UnavailableException if the API server does not answer
     */
    public static Elections using(HttpClient client, String uri, ElectionsConfig config) {
        var parsed = ConnectUri.parse(uri);
        return Elections.over(
                parsed + " by the given client",
                () -> {
                    var settings = KubernetesSettings.of(parsed);
                    var given = ReplaceableClient.of(client);
                    return LeaseStore.over(KubernetesRecordStore.open(
                            settings, ClusterAccess.of(settings, Surroundings.real()), () -> given));
                },
                config);
    }
}

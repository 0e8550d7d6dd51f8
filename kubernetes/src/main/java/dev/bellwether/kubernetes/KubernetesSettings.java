package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.TlsStores;
import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What a {@code k8s:} URI says. Immutable.
 *
 * @param server the address of the API server; empty if the pod or a kubeconfig file knows it
 * @param namespace empty if the pod or a kubeconfig file knows it
 * @param kubeconfig the file that the URI names
 * @param context of a kubeconfig file; empty for its current one
 * @param token of an API server that the URI names
 */
record KubernetesSettings(
        ConnectUri uri,
        Optional<URI> server,
        String namespace,
        Optional<String> kubeconfig,
        String context,
        String token,
        RecordTraits traits) {
    private static final int PORT = 443;
    private static final String NAMESPACE = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";

    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static KubernetesSettings of(ConnectUri uri) {
        uri.requireKnown(Stream.of(
                        List.of("kubeconfig", "context", "token", "tls"), RecordTraits.PARAMETERS, TlsStores.PARAMETERS)
                .flatMap(Collection::stream)
                .toList());
        var hasServer = uri.body().startsWith("//");
        var servers = hasServer && uri.userInfo().isEmpty() ? HttpMembers.of(uri, PORT) : List.<URI>of();
        var namespace = (hasServer ? uri.path() : uri.body()).replaceAll("^/|/$", "");
        if (hasServer != (servers.size() == 1) || !(namespace.isEmpty() || namespace.matches(NAMESPACE))) {
            throw new ElectionException(uri + " must be of the form k8s:namespace, or k8s://host:port/namespace; a"
                    + " namespace has at most 63 lower-case letters, digits and -");
        }
        var elsewhere = hasServer
                ? Stream.of("kubeconfig", "context")
                : Stream.concat(Stream.of("token", "tls"), TlsStores.PARAMETERS.stream());
        elsewhere.filter(name -> uri.parameter(name).isPresent()).findFirst().ifPresent(name -> {
            throw new ElectionException(uri + ": " + name + " is for "
                    + (hasServer
                            ? "k8s:namespace; here the URI itself names the server"
                            : "k8s://host:port/namespace; here the pod or a kubeconfig file knows it"));
        });
        return new KubernetesSettings(
                uri,
                servers.stream().findFirst(),
                namespace,
                uri.parameter("kubeconfig"),
                uri.parameter("context").orElse(""),
                uri.parameter("token").orElse(""),
                RecordTraits.of(uri));
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}

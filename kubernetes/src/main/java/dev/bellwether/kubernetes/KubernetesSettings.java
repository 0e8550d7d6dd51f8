package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordTraits;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What a {@code k8s:} URI says. Immutable.
 *
 * @param namespace empty if the pod or a kubeconfig file knows it
 * @param kubeconfig the file that the URI names
 * @param context of a kubeconfig file; empty for its current one
 */
record KubernetesSettings(
        ConnectUri uri, String namespace, Optional<String> kubeconfig, String context, RecordTraits traits) {
    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static KubernetesSettings of(ConnectUri uri) {
        uri.requireKnown(Stream.concat(Stream.of("kubeconfig", "context"), RecordTraits.PARAMETERS.stream())
                .toList());
        if (!uri.body().matches("([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?")) {
            throw new ElectionException(
                    uri + " must be of the form k8s:namespace: at most 63 lower-case letters, digits"
                            + " and -. Where the API server is, the pod knows, or the file that ?kubeconfig= names");
        }
        return new KubernetesSettings(
                uri,
                uri.body(),
                uri.parameter("kubeconfig"),
                uri.parameter("context").orElse(""),
                RecordTraits.of(uri));
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}

package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordTraits;
import java.util.List;
import java.util.Optional;

/**
 * What a {@code k8s:} URI says. Immutable.
 *
 * @param namespace empty if the pod or a kubeconfig file knows it
 * @param kubeconfig the file that the URI names
 * @param context of a kubeconfig file; empty for its current one
 * @param pod which pod to label while we lead; empty for none
 * @param others of other programs who elect by the same Leases
 */
record KubernetesSettings(
        ConnectUri uri,
        String namespace,
        Optional<String> kubeconfig,
        String context,
        RecordTraits traits,
        Optional<String> pod,
        Optional<OtherElectors> others) {
    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static KubernetesSettings of(ConnectUri uri) {
        uri.requireKnown(
                List.of("kubeconfig", "context", "podLabel", "pod"), RecordTraits.PARAMETERS, OtherElectors.PARAMETERS);
        if (!uri.body().matches("([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?")) {
            throw new ElectionException(
                    uri + " must be of the form k8s:namespace: at most 63 lower-case letters, digits"
                            + " and -. The pod, or the file that ?kubeconfig= names, says where the API server is");
        }
        var traits = RecordTraits.of(uri);
        var others = OtherElectors.of(uri);
        var pod = uri.parameter("pod")
                .or(() -> Optional.ofNullable(System.getenv("POD_NAME")))
                .or(() -> Optional.ofNullable(System.getenv("HOSTNAME")));
        var labels = uri.flag("podLabel").orElse(false);
        if (labels && pod.isEmpty()) {
            throw new ElectionException("podLabel is true, and no pod is known: neither POD_NAME nor HOSTNAME is set."
                    + " Name it by ?pod=");
        }
        return new KubernetesSettings(
                uri,
                uri.body(),
                uri.parameter("kubeconfig"),
                uri.parameter("context").orElse(""),
                others.map(those -> traits.beside(those.rules(), OtherElectors.ENDLESS))
                        .orElse(traits),
                labels ? pod : Optional.empty(),
                others);
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}

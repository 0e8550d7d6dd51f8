package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.Endpoint;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the API server is, and with which credentials we come. Immutable, except for what is in files.
 *
 * @param origin where that is known from, for people
 * @param server its address, with what all paths begin with
 */
record ClusterAccess(
        String origin,
        URI server,
        String namespace,
        FreshText token,
        FreshText authority,
        FreshText certificate,
        FreshText key,
        CertifiedClient clients) {
    private static final Logger log = LoggerFactory.getLogger(ClusterAccess.class);
    private static final FreshText NONE = new FreshText("");
    private static final int LOOKS = 4;

    /** What a process finds around it. */
    record Surroundings(Map<String, String> environment, Path pod, Path home) {
        static Surroundings real() {
            return new Surroundings(
                    System.getenv(),
                    Path.of("/var/run/secrets/kubernetes.io/serviceaccount"),
                    Path.of(System.getProperty("user.home", "/")));
        }

        String variable(String name) {
            return environment.getOrDefault(name, "");
        }
    }

    /**
     * Finds out: from the kubeconfig file that the URI names, or that KUBECONFIG does; from the pod that this runs in;
     * from the user's kubeconfig file.
     *
     * @throws ElectionException if there is nothing of that, or something in it is wrong
     * @throws UnavailableException if the token is not written yet
     */
    static ClusterAccess of(KubernetesSettings settings, Surroundings around) {
        var named = settings.kubeconfig().orElse(around.variable("KUBECONFIG"));
        var host = around.variable("KUBERNETES_SERVICE_HOST");
        if (named.isEmpty() && !host.isEmpty() && Files.exists(around.pod.resolve("token"))) {
            var port = around.variable("KUBERNETES_SERVICE_PORT");
            var origin = "the pod's service account";
            var server = server("https://" + (host.indexOf(':') < 0 ? host : '[' + host + ']') + ':'
                    + (port.isEmpty() ? "443" : port));
            return new ClusterAccess(
                    origin,
                    server,
                    first(settings.namespace(), new FreshText(around.pod.resolve("namespace")).current()),
                    written(new FreshText(around.pod.resolve("token")), origin),
                    new FreshText(around.pod.resolve("ca.crt")),
                    NONE,
                    NONE,
                    new CertifiedClient(origin, server.toString()));
        }
        var file = named.isEmpty() ? around.home.resolve(".kube").resolve("config") : Path.of(named);
        if (!Files.exists(file)) {
            throw new ElectionException(settings + ": no API server is known here: there is no file " + file
                    + ". Name one with ?kubeconfig=; in a pod, automountServiceAccountToken must not be false");
        }
        var config = Kubeconfig.of(file, settings.context());
        var user = config.user();
        var server = server(config.cluster().text("server"));
        return new ClusterAccess(
                config.toString(),
                server,
                first(settings.namespace(), config.namespace()),
                user.text("tokenFile").isEmpty()
                        ? new FreshText(user.text("token"))
                        : written(config.text(user, "tokenFile"), config.toString()),
                config.text(config.cluster(), "certificate-authority"),
                config.text(user, "client-certificate"),
                config.text(user, "client-key"),
                new CertifiedClient(config.toString(), server.toString()));
    }

    /** Without a token we would come as nobody, and be told which rights nobody lacks. */
    private static FreshText written(FreshText token, String origin) {
        if (token.current().isEmpty()) {
            throw new UnavailableException("the token file of " + origin
                    + " is empty: it is just being written, or what should write it has failed");
        }
        return token;
    }

    private static URI server(String text) {
        try {
            var uri = URI.create(text.replaceAll("/+$", ""));
            if (uri.getHost() != null && String.valueOf(uri.getScheme()).matches("https?")) {
                var usual = uri.getScheme().equals("https") ? 443 : 80;
                var port = uri.getPort() < 0 ? usual : uri.getPort();
                if (Endpoint.isPort(port)) {
                    return URI.create(uri.getScheme() + "://" + uri.getHost() + ':' + port + uri.getRawPath());
                }
            }
        } catch (IllegalArgumentException e) {
            // said below
        }
        throw new ElectionException(
                "\"" + text + "\" is no address of an API server: it must be like https://host:6443, with a port from 1"
                        + " to 65535");
    }

    private static String first(String wanted, String known) {
        return !wanted.isEmpty() ? wanted : known.isEmpty() ? "default" : known;
    }

    /**
     * Returns the HTTP client that shows, and trusts, the certificates as they are now, or as they were last when they
     * could be used.
     *
     * @throws ElectionException if they cannot be used, and never could
     */
    ReplaceableClient client() {
        var mostAge = clients.mostAge();
        return clients.of(authority.current(mostAge), certificate.current(mostAge), key.current(mostAge));
    }

    /**
     * Looks a few times, with pauses, whether the certificates can be used: they may be just being renewed, one file
     * after the other.
     *
     * @throws ElectionException if they cannot be used
     */
    void awaitCertificates(Runnable pause) {
        for (var look = 1; look < LOOKS; look++) {
            try {
                var unused = client();
                return;
            } catch (ElectionException e) {
                log.debug("looks again: {}", e.getMessage());
            }
            pause.run();
        }
        var unused = client();
    }
}

package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.http.HttpClients;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Where the API server is, and as whom we come. Immutable, but for the token.
 *
 * @param origin where that is known from, for people
 * @param clients makes the HTTP client that speaks TLS as is wanted there
 */
record ClusterAccess(String origin, URI server, String namespace, AccessToken token, Supplier<HttpClient> clients) {
    private static final int HTTP_PORT = 80;
    private static final int HTTPS_PORT = 443;
    /** One for each set of certificates: a client cannot be closed before Java 21. */
    private static final Map<String, HttpClient> CLIENTS = new ConcurrentHashMap<>();

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
     * Finds out: from the URI; from the kubeconfig file that it names, or that KUBECONFIG does; from the pod that this
     * runs in; from the user's kubeconfig file.
     *
     * @throws ElectionException if there is nothing of that, or something in it is wrong
     */
    static ClusterAccess of(KubernetesSettings settings) {
        return of(settings, Surroundings.real());
    }

    static ClusterAccess of(KubernetesSettings settings, Surroundings around) {
        if (settings.server().isPresent()) {
            var token = new AccessToken(settings.token());
            return new ClusterAccess(
                            "the URI",
                            settings.server().get(),
                            settings.namespace(),
                            token,
                            () -> HttpClients.of(settings.uri()))
                    .in("default");
        }
        var named = settings.kubeconfig().orElse(around.variable("KUBECONFIG"));
        var host = around.variable("KUBERNETES_SERVICE_HOST");
        if (named.isEmpty() && !host.isEmpty() && Files.exists(around.pod.resolve("token"))) {
            return ofPod(settings, around, host);
        }
        var file = named.isEmpty() ? around.home.resolve(".kube").resolve("config") : Path.of(named);
        if (!Files.exists(file)) {
            var lists = named.contains(":")
                    ? ". A list of files is not read: name one with ?kubeconfig="
                    : ". In a pod, automountServiceAccountToken must not be false; elsewhere, name a file with"
                            + " ?kubeconfig=";
            throw new ElectionException(settings + ": no API server is known here: there is no " + file + lists);
        }
        return ofFile(settings, Kubeconfig.of(file, settings.context()));
    }

    private static ClusterAccess ofPod(KubernetesSettings settings, Surroundings around, String host) {
        try {
            var ca = around.pod.resolve("ca.crt");
            var trust = new ClusterTrust(ca);
            var own = Files.readString(around.pod.resolve("namespace")).strip();
            var port = around.variable("KUBERNETES_SERVICE_PORT");
            return new ClusterAccess(
                    "the pod's service account",
                    URI.create("https://" + (host.indexOf(':') < 0 ? host : '[' + host + ']') + ':'
                            + (port.isEmpty() ? HTTPS_PORT : port)),
                    settings.namespace().isEmpty() ? own : settings.namespace(),
                    new AccessToken(around.pod.resolve("token")),
                    () -> client(ca.toString(), trust, new KeyManager[0]));
        } catch (IOException | GeneralSecurityException e) {
            throw new ElectionException(
                    settings + ": cannot read what the pod has of its service account in " + around.pod + ": " + e, e);
        }
    }

    private static ClusterAccess ofFile(KubernetesSettings settings, Kubeconfig config) {
        var server = config.cluster().text("server").replaceAll("/+$", "");
        if (!server.matches("https?://[^/?#@]+(/[^?#]*)?")) {
            throw new ElectionException(
                    config + ": the server of its cluster is \"" + server + "\": it must be like https://host:6443");
        }
        var uri = URI.create(server);
        var port = uri.getPort() > 0 ? uri.getPort() : server.startsWith("https") ? HTTPS_PORT : HTTP_PORT;
        var tokenFile = config.path(config.user(), "tokenFile");
        var namespace = settings.namespace().isEmpty() ? config.namespace() : settings.namespace();
        return new ClusterAccess(
                        config.toString(),
                        URI.create(uri.getScheme() + "://" + uri.getHost() + ':' + port + uri.getRawPath()),
                        namespace,
                        tokenFile
                                .map(AccessToken::new)
                                .orElseGet(() -> new AccessToken(config.user().text("token"))),
                        () -> client(settings, config))
                .in("default");
    }

    private ClusterAccess in(String usual) {
        return new ClusterAccess(origin, server, namespace.isEmpty() ? usual : namespace, token, clients);
    }

    HttpClient client() {
        return clients.get();
    }

    private static HttpClient client(KubernetesSettings settings, Kubeconfig config) {
        var authority = config.bytes(config.cluster(), "certificate-authority");
        var certificate = config.bytes(config.user(), "client-certificate");
        var key = config.bytes(config.user(), "client-key");
        if (authority.isEmpty() && certificate.isEmpty()) {
            return HttpClients.of(settings.uri());
        }
        try {
            Optional<X509ExtendedTrustManager> trust =
                    authority.isEmpty() ? Optional.empty() : Optional.of(ClusterTrust.of(authority.get()));
            var keys = certificate.isEmpty()
                    ? new KeyManager[0]
                    : keys(
                            certificate.get(),
                            key.orElseThrow(() ->
                                    new ElectionException(config + " has a client-certificate and no client-key")));
            var all = authority.map(Arrays::hashCode) + "/" + certificate.map(Arrays::hashCode) + "/"
                    + key.map(Arrays::hashCode);
            return client(config + all, trust.orElse(null), keys);
        } catch (IOException | GeneralSecurityException e) {
            throw new ElectionException("cannot use the certificates of " + config + ": " + e.getMessage(), e);
        }
    }

    private static KeyManager[] keys(byte[] certificate, byte[] key) throws IOException, GeneralSecurityException {
        var chain = CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(certificate))
                .toArray(Certificate[]::new);
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        store.setKeyEntry("client", PrivateKeys.of(key), new char[0], chain);
        var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, new char[0]);
        return factory.getKeyManagers();
    }

    private static HttpClient client(String name, @Nullable X509ExtendedTrustManager trust, KeyManager[] keys) {
        return CLIENTS.computeIfAbsent(name, absent -> {
            try {
                var context = SSLContext.getInstance("TLS");
                context.init(keys, trust == null ? null : new TrustManager[] {trust}, null);
                return HttpClients.by(context);
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e); // every JDK speaks it
            }
        });
    }
}

package dev.bellwether.etcd;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import java.io.File;
import java.io.IOException;
import java.net.http.HttpClient;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Knows {@code etcd:} URIs. */
public final class EtcdProvider implements ElectionsProvider {
    private static final int THREADS = 4;
    private static final List<String> STORES = List.of("truststore", "keystore");

    /** For {@link java.util.ServiceLoader}. */
    public EtcdProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("etcd");
    }

    @Override
    public void check(ConnectUri uri) {
        EtcdSettings.of(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        check(uri);
        var settings = EtcdSettings.of(uri);
        var own = STORES.stream().anyMatch(uri.parameters()::containsKey);
        return LeaseStore.over(EtcdRecordStore.open(
                settings, own ? builder().sslContext(tls(uri)).build() : Shared.CLIENT));
    }

    /** One for all that need no certificates of their own: a client cannot be closed before Java 21. */
    private static final class Shared {
        private static final HttpClient CLIENT = builder().build();
    }

    private static HttpClient.Builder builder() {
        var threads = Executors.newFixedThreadPool(THREADS, task -> {
            var thread = new Thread(task, "bellwether-etcd");
            thread.setDaemon(true);
            return thread;
        });
        return HttpClient.newBuilder()
                .executor(threads)
                .connectTimeout(Duration.ofSeconds(2))
                .proxy(HttpClient.Builder.NO_PROXY);
    }

    private static SSLContext tls(ConnectUri uri) {
        var store = "truststore";
        try {
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(uri.parameter(store).isPresent() ? load(uri, store) : null);
            var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            store = "keystore";
            keys.init(uri.parameter(store).isPresent() ? load(uri, store) : null, password(uri, store));
            var context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            throw new ElectionException(
                    uri + ": the file that " + store + " names cannot be read as a keystore: check it, and " + store
                            + "Password (" + uri.redact(String.valueOf(e.getMessage())) + ")",
                    e);
        }
    }

    private static KeyStore load(ConnectUri uri, String store) throws IOException, GeneralSecurityException {
        return KeyStore.getInstance(new File(uri.parameter(store).orElseThrow()), password(uri, store));
    }

    private static char[] password(ConnectUri uri, String store) {
        return uri.parameter(store + "Password").orElse("").toCharArray();
    }
}

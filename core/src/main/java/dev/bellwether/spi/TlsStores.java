package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The stores of certificates that the parameters of a URI name: which servers to trust, and our own. A file that has
 * changed is read again at the next handshake. Thread-safe.
 */
public final class TlsStores {
    /** The parameters that are read here. */
    public static final List<String> PARAMETERS =
            List.of("truststore", "truststorePassword", "keystore", "keystorePassword");

    private final TrustManagerFactory trust;
    private final KeyManagerFactory keys;

    private TlsStores(TrustManagerFactory trust, KeyManagerFactory keys) {
        this.trust = trust;
        this.keys = keys;
    }

    /** Returns whether a URI names one. */
    public static boolean areIn(ConnectUri uri) {
        return uri.parameter("truststore").or(() -> uri.parameter("keystore")).isPresent();
    }

    /**
     * Refuses a URI that names one where a client of the application's connects: that goes by its own.
     *
     * @throws ElectionException if it names one
     */
    public static void requireNoneIn(ConnectUri uri) {
        if (areIn(uri)) {
            throw new ElectionException(uri + " names certificates, and the given client has its own: leave truststore"
                    + " and keystore out, and give the client what it is to trust and to show");
        }
    }

    /**
     * Reads them. Where no truststore is named, servers are trusted that the JDK trusts.
     *
     * @throws ElectionException if one cannot be read, naming its parameter
     */
    public static TlsStores of(ConnectUri uri) {
        var store = "truststore";
        try {
            var trust = new StoreFile<>(uri, store, (trusted, password) -> trust(trusted));
            store = "keystore";
            var keys = new StoreFile<>(uri, store, TlsStores::keys);
            return new TlsStores(ReloadedManagers.trust(trust), ReloadedManagers.keys(keys));
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            throw new ElectionException(
                    uri + ": the file that " + store + " names cannot be read as a keystore: check it, and " + store
                            + "Password (" + uri.redact(String.valueOf(e.getMessage())) + ")",
                    e);
        }
    }

    private static X509ExtendedTrustManager trust(@Nullable KeyStore trusted) throws GeneralSecurityException {
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(trusted);
        return first(X509ExtendedTrustManager.class, factory.getTrustManagers());
    }

    private static X509ExtendedKeyManager keys(@Nullable KeyStore own, char[] password)
            throws GeneralSecurityException {
        var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(own, password);
        return first(X509ExtendedKeyManager.class, factory.getKeyManagers());
    }

    private static <T> T first(Class<T> wanted, Object[] managers) throws GeneralSecurityException {
        return Stream.of(managers)
                .filter(wanted::isInstance)
                .map(wanted::cast)
                .findFirst()
                .orElseThrow(() -> new GeneralSecurityException("this JDK has no " + wanted.getSimpleName()));
    }

    /** Returns which certificates to trust. */
    public TrustManagerFactory trust() {
        return trust;
    }

    /** Returns who we are; empty if no keystore is named. */
    public KeyManagerFactory keys() {
        return keys;
    }

    /** Returns a context that speaks TLS by these. */
    public SSLContext context() {
        try {
            var context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every JDK speaks it
        }
    }
}

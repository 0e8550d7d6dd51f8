package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.io.File;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The stores of certificates that the parameters of a URI name: which servers to trust, and our own. Immutable. */
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
     * Reads them. Where no truststore is named, servers are trusted that the JDK trusts.
     *
     * @throws ElectionException if one cannot be read, naming its parameter
     */
    public static TlsStores of(ConnectUri uri) {
        var store = "truststore";
        try {
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(uri.parameter(store).isPresent() ? load(uri, store) : null);
            var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            store = "keystore";
            keys.init(uri.parameter(store).isPresent() ? load(uri, store) : null, password(uri, store));
            return new TlsStores(trust, keys);
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            throw new ElectionException(
                    uri + ": the file that " + store + " names cannot be read as a keystore: check it, and " + store
                            + "Password (" + uri.redact(String.valueOf(e.getMessage())) + ")",
                    e);
        }
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

    private static KeyStore load(ConnectUri uri, String store) throws IOException, GeneralSecurityException {
        return KeyStore.getInstance(new File(uri.parameter(store).orElseThrow()), password(uri, store));
    }

    private static char[] password(ConnectUri uri, String store) {
        return uri.parameter(store + "Password").orElse("").toCharArray();
    }
}

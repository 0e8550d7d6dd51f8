package dev.bellwether.spi;

import java.net.Socket;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.Security;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.KeyManagerFactorySpi;
import javax.net.ssl.ManagerFactoryParameters;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.TrustManagerFactorySpi;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/** Managers for TLS that do what a file says at the moment of the handshake. */
final class ReloadedManagers {
    private ReloadedManagers() {}

    static TrustManagerFactory trust(StoreFile<X509ExtendedTrustManager> file) {
        var manager = new Trust(file);
        var spi = new TrustManagerFactorySpi() {
            @Override
            protected void engineInit(@Nullable KeyStore store) {
                throw new UnsupportedOperationException("it has its file");
            }

            @Override
            protected void engineInit(ManagerFactoryParameters parameters) {
                throw new UnsupportedOperationException("it has its file");
            }

            @Override
            protected TrustManager[] engineGetTrustManagers() {
                return new TrustManager[] {manager};
            }
        };
        return new TrustManagerFactory(spi, provider(), "X.509") {};
    }

    static KeyManagerFactory keys(StoreFile<X509ExtendedKeyManager> file) {
        var manager = new Keys(file);
        var spi = new KeyManagerFactorySpi() {
            @Override
            protected void engineInit(@Nullable KeyStore store, char @Nullable [] password) {
                throw new UnsupportedOperationException("it has its file");
            }

            @Override
            protected void engineInit(ManagerFactoryParameters parameters) {
                throw new UnsupportedOperationException("it has its file");
            }

            @Override
            protected KeyManager[] engineGetKeyManagers() {
                return new KeyManager[] {manager};
            }
        };
        return new KeyManagerFactory(spi, provider(), "X.509") {};
    }

    /** A factory must name one, and asks nothing of it. */
    private static Provider provider() {
        return Security.getProviders()[0];
    }

    /** Thread-safe. */
    private static final class Trust extends X509ExtendedTrustManager {
        private final StoreFile<X509ExtendedTrustManager> file;

        private Trust(StoreFile<X509ExtendedTrustManager> file) {
            this.file = file;
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            file.current().checkClientTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            file.current().checkClientTrusted(chain, type, socket);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            file.current().checkClientTrusted(chain, type, engine);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            file.current().checkServerTrusted(chain, type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            file.current().checkServerTrusted(chain, type, socket);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            file.current().checkServerTrusted(chain, type, engine);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return file.current().getAcceptedIssuers();
        }
    }

    /**
     * A handshake first chooses a name, and then asks for what has it. The name is looked up where it was chosen, so
     * that nobody is given the key of one file and the certificate of the next. Thread-safe.
     */
    private static final class Keys extends X509ExtendedKeyManager {
        private static final String BETWEEN = "/";

        private final StoreFile<X509ExtendedKeyManager> file;
        private X509ExtendedKeyManager latest; // guarded by this
        private X509ExtendedKeyManager former; // guarded by this
        private long number; // of the latest; guarded by this

        private Keys(StoreFile<X509ExtendedKeyManager> file) {
            this.file = file;
            latest = file.current();
            former = latest;
        }

        private interface Choice {
            @Nullable
            String by(X509ExtendedKeyManager manager);
        }

        private synchronized @Nullable String chosen(Choice choice) {
            var current = file.current();
            if (!current.equals(latest)) {
                former = latest;
                latest = current;
                number++;
            }
            var name = choice.by(latest);
            return name == null ? null : number + BETWEEN + name;
        }

        private synchronized X509ExtendedKeyManager of(String name) {
            return name.startsWith(number + BETWEEN) ? latest : former;
        }

        private static String plain(String name) {
            return name.substring(name.indexOf(BETWEEN) + BETWEEN.length());
        }

        @Override
        public @Nullable String chooseClientAlias(
                String[] types, Principal @Nullable [] issuers, @Nullable Socket socket) {
            return chosen(manager -> manager.chooseClientAlias(types, issuers, socket));
        }

        @Override
        public @Nullable String chooseEngineClientAlias(
                String[] types, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
            return chosen(manager -> manager.chooseEngineClientAlias(types, issuers, engine));
        }

        @Override
        public X509Certificate @Nullable [] getCertificateChain(String name) {
            return of(name).getCertificateChain(plain(name));
        }

        @Override
        public @Nullable PrivateKey getPrivateKey(String name) {
            return of(name).getPrivateKey(plain(name));
        }

        @Override
        public String @Nullable [] getClientAliases(String type, Principal @Nullable [] issuers) {
            return null; // nobody asks a client's manager for a list
        }

        @Override
        public String @Nullable [] getServerAliases(String type, Principal @Nullable [] issuers) {
            return null;
        }

        @Override
        public @Nullable String chooseServerAlias(
                String type, Principal @Nullable [] issuers, @Nullable Socket socket) {
            return null; // no server of ours
        }
    }
}

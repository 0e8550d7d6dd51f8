package dev.bellwether.kubernetes;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Trusts the certificates in a file, as it is when a connection is opened: a cluster may replace its authority while
 * pods run. Thread-safe.
 */
final class ClusterTrust extends X509ExtendedTrustManager {
    private final Path file;

    /**
     * Reads the file once, to see that it can be.
     *
     * @throws GeneralSecurityException if it holds no certificates
     */
    ClusterTrust(Path file) throws IOException, GeneralSecurityException {
        this.file = file;
        var unused = of(Files.readAllBytes(file));
    }

    /** Returns what trusts these certificates. */
    static X509ExtendedTrustManager of(byte[] pem) throws IOException, GeneralSecurityException {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        for (var one : CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem))) {
            store.setCertificateEntry("authority-" + store.size(), one);
        }
        if (store.size() == 0) {
            throw new CertificateException("there is no certificate in it");
        }
        var factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(store);
        return (X509ExtendedTrustManager) factory.getTrustManagers()[0];
    }

    private X509ExtendedTrustManager now() throws CertificateException {
        try {
            return of(Files.readAllBytes(file));
        } catch (IOException | GeneralSecurityException e) {
            throw new CertificateException("cannot read the certificates in " + file + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        now().checkServerTrusted(chain, type, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        now().checkServerTrusted(chain, type, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        now().checkServerTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        throw new CertificateException("there are no clients here");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        throw new CertificateException("there are no clients here");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        throw new CertificateException("there are no clients here");
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0];
    }
}

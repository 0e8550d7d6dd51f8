package dev.bellwether.kubernetes;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Makes TLS of the certificates and keys that pods and kubeconfig files have. The JDK knows one form of keys of three.
 */
final class Certificates {
    private static final Pattern KEY =
            Pattern.compile("-----BEGIN (EC |RSA |)PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END");
    private static final byte[] VERSION = {2, 1, 0};
    private static final byte[] RSA = HexFormat.of().parseHex("300d06092a864886f70d0101010500");
    private static final byte[] EC = HexFormat.of().parseHex("06072a8648ce3d0201");
    private static final int SEQUENCE = 0x30;
    private static final int OCTETS = 4;
    /** Before the name of its curve, in a key of the form "EC". */
    private static final byte PARAMETERS = (byte) 0xa0;

    private static final int OBJECT_NAME = 6;
    private static final int LONG_LENGTH = 0x80;

    private Certificates() {}

    /**
     * Returns what trusts this authority, or what the JDK trusts if it is empty, and shows this certificate, or none.
     */
    static SSLContext context(String authority, String certificate, String key)
            throws GeneralSecurityException, IOException {
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        var trusted = empty();
        var number = 0;
        for (var one : authority.isEmpty() ? new Certificate[0] : chain(authority)) {
            trusted.setCertificateEntry("authority-" + number++, one);
        }
        trust.init(authority.isEmpty() ? null : trusted);
        var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        var own = empty();
        if (!certificate.isEmpty()) {
            var secret = key(key);
            var chain = chain(certificate);
            if (!isPair(secret, chain[0])) {
                throw new CertificateException("the private key is not that of the certificate");
            }
            own.setKeyEntry("client", secret, new char[0], chain);
        }
        keys.init(own, new char[0]);
        var context = SSLContext.getInstance("TLS");
        context.init(certificate.isEmpty() ? new KeyManager[0] : keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        return store;
    }

    private static Certificate[] chain(String pem) throws GeneralSecurityException {
        var found = CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(pem.getBytes(StandardCharsets.UTF_8)))
                .toArray(Certificate[]::new);
        if (found.length == 0) {
            throw new CertificateException("there is no certificate in it");
        }
        return found;
    }

    /** The JDK does not compare them. They may be two files, of which one is read before it is renewed. */
    private static boolean isPair(PrivateKey key, Certificate certificate) throws GeneralSecurityException {
        var signature = Signature.getInstance(
                switch (key.getAlgorithm()) {
                    case "RSA" -> "SHA256withRSA";
                    case "EC" -> "SHA256withECDSA";
                    default -> key.getAlgorithm();
                });
        signature.initSign(key);
        signature.update(VERSION);
        var signed = signature.sign();
        try {
            signature.initVerify(certificate.getPublicKey());
            signature.update(VERSION);
            return signature.verify(signed);
        } catch (InvalidKeyException | SignatureException e) {
            return false; // it is of another kind
        }
    }

    static PrivateKey key(String pem) throws GeneralSecurityException {
        var found = KEY.matcher(pem);
        if (!found.find()) {
            throw new InvalidKeySpecException("there is no unencrypted private key in it");
        }
        var key = decoded(found.group(2));
        var spec = new PKCS8EncodedKeySpec(
                switch (found.group(1)) {
                    case "RSA " -> part(SEQUENCE, VERSION, RSA, part(OCTETS, key));
                    case "EC " -> part(SEQUENCE, VERSION, part(SEQUENCE, EC, curve(key)), part(OCTETS, key));
                    default -> key;
                });
        return Stream.of("RSA", "EC", "Ed25519")
                .flatMap(algorithm -> read(algorithm, spec).stream())
                .findFirst()
                .orElseThrow(() ->
                        new InvalidKeySpecException("the private key in it is not of a known kind: RSA, EC, Ed25519"));
    }

    private static byte[] decoded(String base64) throws GeneralSecurityException {
        try {
            return Base64.getMimeDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            throw new InvalidKeySpecException("the private key in it is damaged", e);
        }
    }

    private static Optional<PrivateKey> read(String algorithm, PKCS8EncodedKeySpec spec) {
        try {
            return Optional.of(KeyFactory.getInstance(algorithm).generatePrivate(spec));
        } catch (GeneralSecurityException e) {
            return Optional.empty(); // it is another one
        }
    }

    private static byte[] curve(byte[] key) throws InvalidKeySpecException {
        for (var i = 0; i + 4 < key.length; i++) {
            var end = i + 4 + key[i + 3];
            if (key[i] == PARAMETERS
                    && key[i + 1] == key[i + 3] + 2
                    && key[i + 2] == OBJECT_NAME
                    && end <= key.length) {
                return Arrays.copyOfRange(key, i + 2, end);
            }
        }
        throw new InvalidKeySpecException("the private key in it does not name its curve");
    }

    /** Returns a part with its kind and length before it. */
    private static byte[] part(int kind, byte[]... contents) {
        var all = new ByteArrayOutputStream();
        Arrays.stream(contents).forEach(all::writeBytes);
        var part = new ByteArrayOutputStream();
        part.write(kind);
        var more = all.size() > 2 * Byte.MAX_VALUE + 1 ? 2 : all.size() > Byte.MAX_VALUE ? 1 : 0;
        if (more > 0) {
            part.write(LONG_LENGTH | more);
        }
        if (more > 1) {
            part.write(all.size() >> Byte.SIZE);
        }
        part.write(all.size());
        part.writeBytes(all.toByteArray());
        return part.toByteArray();
    }
}

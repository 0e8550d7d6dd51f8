package dev.bellwether.kubernetes;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads private keys in the three forms that kubeconfig files have; the JDK knows one of them. */
final class PrivateKeys {
    private static final Pattern PEM =
            Pattern.compile("-----BEGIN (EC |RSA |)PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END");
    private static final byte[] VERSION = {2, 1, 0};
    private static final byte[] RSA = HexFormat.of().parseHex("300d06092a864886f70d0101010500");
    private static final byte[] EC = HexFormat.of().parseHex("06072a8648ce3d0201");
    private static final int SEQUENCE = 0x30;
    private static final int OCTETS = 4;
    /** Before the name of its curve, in a key of the form "EC". */
    private static final int PARAMETERS = 0xa0;

    private static final int OBJECT_NAME = 6;
    private static final int SHORT = 0x80;
    private static final int BYTE = 0xff;

    private PrivateKeys() {}

    static PrivateKey of(byte[] pem) throws GeneralSecurityException {
        var found = PEM.matcher(new String(pem, StandardCharsets.ISO_8859_1));
        if (!found.find()) {
            throw new InvalidKeySpecException("there is no unencrypted private key in it");
        }
        var key = Base64.getMimeDecoder().decode(found.group(2));
        var spec = new PKCS8EncodedKeySpec(
                switch (found.group(1)) {
                    case "RSA " -> wrapped(RSA, key);
                    case "EC " -> wrapped(part(SEQUENCE, EC, curve(key)), key);
                    default -> key;
                });
        return Stream.of("RSA", "EC", "Ed25519")
                .flatMap(algorithm -> read(algorithm, spec).stream())
                .findFirst()
                .orElseThrow(() -> new InvalidKeySpecException(
                        "the private key in it is of no kind that is known: RSA, EC, Ed25519"));
    }

    private static Optional<PrivateKey> read(String algorithm, PKCS8EncodedKeySpec spec) {
        try {
            return Optional.of(KeyFactory.getInstance(algorithm).generatePrivate(spec));
        } catch (GeneralSecurityException e) {
            return Optional.empty(); // it is another one
        }
    }

    private static byte[] wrapped(byte[] algorithm, byte[] key) {
        return part(SEQUENCE, VERSION, algorithm, part(OCTETS, key));
    }

    private static byte[] curve(byte[] key) throws InvalidKeySpecException {
        for (var i = 0; i + 3 < key.length; i++) {
            var length = key[i + 3];
            if ((key[i] & BYTE) == PARAMETERS
                    && key[i + 1] == length + 2
                    && key[i + 2] == OBJECT_NAME
                    && i + 4 + length <= key.length) {
                return Arrays.copyOfRange(key, i + 2, i + 4 + length);
            }
        }
        throw new InvalidKeySpecException("the private key in it does not name its curve");
    }

    private static byte[] part(int kind, byte[]... contents) {
        var all = new ByteArrayOutputStream();
        for (var content : contents) {
            all.writeBytes(content);
        }
        var part = new ByteArrayOutputStream();
        part.write(kind);
        if (all.size() < SHORT) {
            part.write(all.size());
        } else {
            part.write(SHORT | 2);
            part.write(all.size() >> 8);
            part.write(all.size());
        }
        part.writeBytes(all.toByteArray());
        return part.toByteArray();
    }
}

package dev.bellwether.nats;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** Keys and certificates that sign themselves, made by the JDK's keytool in a folder of the test's. */
final class Certificates {
    static final String PASSWORD = "no-secret";

    private final Path folder;

    Certificates(Path folder) {
        this.folder = folder;
    }

    /** Makes a key for this machine's loopback, and returns its keystore. */
    Path key(String name) {
        var store = folder.resolve(name + ".p12");
        keytool(
                "-genkeypair",
                "-alias",
                name,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-dname",
                "CN=" + name,
                "-ext",
                "SAN=IP:127.0.0.1,DNS:localhost",
                "-startdate",
                "-1d",
                "-validity",
                "7",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD);
        return store;
    }

    /** Returns a truststore that holds the certificate of this key and no other. */
    Path trust(String name) {
        var store = folder.resolve("trust-" + name + ".p12");
        if (Files.exists(store)) {
            return store;
        }
        keytool(
                "-importcert",
                "-noprompt",
                "-alias",
                name,
                "-file",
                certificate(name).toString(),
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD);
        return store;
    }

    /** Returns the certificate of a key, as a server wants it. */
    Path certificate(String name) {
        try {
            return pem(
                    name + ".crt",
                    "CERTIFICATE",
                    store(name).getCertificate(name).getEncoded());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the private half of a key, as a server wants it. */
    Path secret(String name) {
        try {
            return pem(
                    name + ".key",
                    "PRIVATE KEY",
                    store(name).getKey(name, PASSWORD.toCharArray()).getEncoded());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private KeyStore store(String name) throws GeneralSecurityException {
        try {
            return KeyStore.getInstance(folder.resolve(name + ".p12").toFile(), PASSWORD.toCharArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path pem(String file, String kind, byte[] content) {
        try {
            return Files.writeString(
                    folder.resolve(file),
                    "-----BEGIN " + kind + "-----\n"
                            + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content)
                            + "\n-----END " + kind + "-----\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void keytool(String... arguments) {
        var command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(List.of(arguments));
        try {
            var process = new ProcessBuilder(command).redirectErrorStream(true).start();
            var said = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException("keytool: " + said);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}

package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.http.HttpClients;
import dev.bellwether.http.ReplaceableClient;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the HTTP client for certificates that others replace while it is in use. Thread-safe. */
final class CertifiedClient {
    private static final Logger log = LoggerFactory.getLogger(CertifiedClient.class);
    /**
     * One for each server and set of certificates, of which this is a digest, as long as anybody uses it: a client
     * cannot be closed before Java 21. Guarded by itself.
     */
    private static final Map<String, WeakReference<ReplaceableClient>> CLIENTS = new HashMap<>();

    private static final Duration SOON = Duration.ofSeconds(1);

    private final String origin;
    private final String server;
    private @Nullable ReplaceableClient last; // guarded by this
    private String known = ""; // the certificates of the last; guarded by this
    private String refused = ""; // guarded by this

    /** Of certificates from there, for people, to ask this server. */
    CertifiedClient(String origin, String server) {
        this.origin = origin;
        this.server = server;
    }

    /** Returns how old may be what {@link #of} is given: what was refused may be just being replaced. */
    synchronized Duration mostAge() {
        return refused.isEmpty() ? FreshText.READ_AGAIN : last == null ? Duration.ZERO : SOON;
    }

    /**
     * Returns the client that trusts this authority and shows this certificate. If they cannot be used, as while
     * somebody writes them, it returns the last one that could be made.
     *
     * @throws ElectionException if none could be made yet
     */
    synchronized ReplaceableClient of(String authority, String certificate, String key) {
        var all = String.join("\n", server, authority, certificate, key);
        var former = last;
        if (former != null && known.equals(all)) {
            refused = "";
            return former;
        }
        try {
            var client = shared(all, authority, certificate, key);
            last = client;
            known = all;
            refused = "";
            return client;
        } catch (GeneralSecurityException | IOException e) {
            if (former == null) {
                refused = all;
                throw new ElectionException("cannot use the certificates of " + origin + ": " + e.getMessage(), e);
            }
            if (!refused.equals(all)) {
                refused = all;
                log.warn(
                        "cannot use the new certificates of {}: {}. The former ones are used until these can be read."
                                + " They are looked at again each second",
                        origin,
                        e.getMessage());
            }
            return former;
        }
    }

    private static ReplaceableClient shared(String all, String authority, String certificate, String key)
            throws GeneralSecurityException, IOException {
        var digest = HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(all.getBytes(StandardCharsets.UTF_8)));
        synchronized (CLIENTS) {
            CLIENTS.values().removeIf(one -> one.get() == null);
            var present = CLIENTS.get(digest);
            var client = present == null ? null : present.get();
            if (client == null) {
                client = HttpClients.by(Certificates.context(authority, certificate, key));
                CLIENTS.put(digest, new WeakReference<>(client));
            }
            return client;
        }
    }
}

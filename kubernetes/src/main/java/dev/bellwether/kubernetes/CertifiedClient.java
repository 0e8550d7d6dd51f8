package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.http.HttpClients;
import dev.bellwether.http.ReplaceableClient;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the HTTP client for certificates that others replace while it is in use. Thread-safe. */
final class CertifiedClient {
    private static final Logger log = LoggerFactory.getLogger(CertifiedClient.class);
    /** One for each server and set of certificates: a client cannot be closed before Java 21. */
    private static final Map<String, ReplaceableClient> CLIENTS = new ConcurrentHashMap<>();

    private final String origin;
    private final String server;
    private @Nullable ReplaceableClient last; // guarded by this
    private String refused = ""; // guarded by this

    /** Of certificates from there, for people, to ask this server. */
    CertifiedClient(String origin, String server) {
        this.origin = origin;
        this.server = server;
    }

    /**
     * Returns the client that trusts this authority and shows this certificate. If they cannot be used, as while
     * somebody writes them, it returns the last one that could be made.
     *
     * @throws ElectionException if none could be made yet
     */
    synchronized ReplaceableClient of(String authority, String certificate, String key) {
        var all = String.join("\n", server, authority, certificate, key);
        var known = CLIENTS.get(all);
        try {
            var client = known == null ? HttpClients.by(Certificates.context(authority, certificate, key)) : known;
            var former = CLIENTS.putIfAbsent(all, client);
            last = former == null ? client : former;
            refused = "";
            return last;
        } catch (GeneralSecurityException | IOException e) {
            var former = last;
            if (former == null) {
                throw new ElectionException("cannot use the certificates of " + origin + ": " + e.getMessage(), e);
            }
            if (!refused.equals(all)) {
                refused = all;
                log.warn(
                        "cannot use the new certificates of {}: {}. The former ones are used until these can be read."
                                + " They are looked at again each minute",
                        origin,
                        e.getMessage());
            }
            return former;
        }
    }
}

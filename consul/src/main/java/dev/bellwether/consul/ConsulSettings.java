package dev.bellwether.consul;

import dev.bellwether.ElectionException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.TlsStores;
import java.net.URI;
import java.util.List;

/**
 * What a {@code consul:} URI says. Immutable.
 *
 * @param members the addresses of the agents, in the order of the URI
 * @param prefix of all keys, with the slash behind it
 * @param token of Consul's access control; empty for none
 * @param datacenter empty for that of the agent
 */
record ConsulSettings(
        ConnectUri uri, List<URI> members, String prefix, String token, String datacenter, RecordTraits traits) {
    private static final int PORT = 8500;

    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static ConsulSettings of(ConnectUri uri) {
        uri.requireKnown(List.of("token", "dc", "tls"), RecordTraits.PARAMETERS, TlsStores.PARAMETERS);
        var members =
                uri.authority().isBlank() || uri.userInfo().isPresent() ? List.<URI>of() : HttpMembers.of(uri, PORT);
        var path = uri.path().replaceAll("^/+|/+$", "");
        if (members.isEmpty() || !path.matches("[A-Za-z0-9._~/-]*") || path.contains("//")) {
            throw new ElectionException(uri + " must be of the form consul://host:8500/prefix, or with several hosts,"
                    + " separated by commas, and with ?token=${env:CONSUL_HTTP_TOKEN}; the prefix of letters, digits"
                    + " and . _ ~ - /");
        }
        return new ConsulSettings(
                uri,
                members,
                (path.isEmpty() ? "bellwether" : path) + "/",
                HttpMembers.credential(
                        uri + ": the token", uri.parameter("token").orElse("")),
                uri.parameter("dc").orElse(""),
                RecordTraits.of(uri));
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}

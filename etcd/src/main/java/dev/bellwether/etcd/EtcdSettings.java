package dev.bellwether.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.ElectionException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.TlsStores;
import java.net.URI;
import java.util.Base64;
import java.util.List;

/**
 * What an {@code etcd:} URI says. Immutable.
 *
 * @param members the addresses of the members, in the order of the URI
 * @param prefix of all keys, without the last slash
 * @param user empty for none, and the password too
 */
record EtcdSettings(
        ConnectUri uri, List<URI> members, String prefix, String user, String password, RecordTraits traits) {
    private static final int PORT = 2379;
    private static final String FORM =
            " must be of the form etcd://host:2379/prefix, or with several hosts, separated by"
                    + " commas, and with user:password@ before them";

    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static EtcdSettings of(ConnectUri uri) {
        uri.requireKnown(List.of("tls"), RecordTraits.PARAMETERS, TlsStores.PARAMETERS);
        var path = uri.path().replaceAll("/+$", "");
        var info = uri.userInfo().orElse(":").split(":", 2);
        if (uri.authority().isBlank() || info.length < 2) {
            throw new ElectionException(uri + FORM);
        }
        var members = HttpMembers.of(uri, PORT);
        if (members.isEmpty()) {
            throw new ElectionException(uri + FORM);
        }
        return new EtcdSettings(
                uri, members, path.isEmpty() ? "/bellwether" : path, info[0], info[1], RecordTraits.of(uri));
    }

    /** Returns the request to read a key of ours that is never there, as of a revision; of now, if that is 0. */
    String anyKey(String revision) {
        return "{\"key\":\"" + Base64.getEncoder().encodeToString((prefix + "/").getBytes(UTF_8)) + "\",\"revision\":\""
                + revision + "\"}";
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}

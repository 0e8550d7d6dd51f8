package dev.bellwether.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Durations;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * What an {@code etcd:} URI says. Immutable.
 *
 * @param members the addresses of the members, in the order of the URI
 * @param prefix of all keys, without the last slash
 * @param user empty for none, and the password too
 * @param presence how long a standby is listed after the last sign of it
 */
record EtcdSettings(ConnectUri uri, List<URI> members, String prefix, String user, String password, Duration presence) {
    private static final String FORM =
            " must be of the form etcd://host:2379/prefix, or with several hosts, separated by"
                    + " commas, and with user:password@ before them";

    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static EtcdSettings of(ConnectUri uri) {
        uri.requireKnown(
                List.of("presence", "tls", "truststore", "truststorePassword", "keystore", "keystorePassword"));
        var presence = uri.duration("presence").orElse(Duration.ofMinutes(10));
        if (presence.compareTo(Duration.ofSeconds(1)) < 0) {
            throw new ElectionException("presence is " + Durations.show(presence) + ": it must be a second at least");
        }
        var stores =
                uri.parameter("truststore").or(() -> uri.parameter("keystore")).isPresent();
        var scheme = uri.flag("tls").orElse(stores) ? "https://" : "http://";
        var path = uri.path().replaceAll("/+$", "");
        var info = uri.userInfo().orElse(":").split(":", 2);
        if (uri.authority().isBlank() || info.length < 2) {
            throw new ElectionException(uri + FORM);
        }
        var members = Arrays.stream(uri.authority().split(",", -1))
                .map(host -> member(uri, scheme, host.strip()))
                .toList();
        return new EtcdSettings(uri, members, path.isEmpty() ? "/bellwether" : path, info[0], info[1], presence);
    }

    private static URI member(ConnectUri uri, String scheme, String host) {
        try {
            var member = URI.create(scheme + host + (host.matches(".*:[0-9]+") && !host.endsWith("]") ? "" : ":2379"));
            if (member.getHost() != null) {
                return member;
            }
        } catch (IllegalArgumentException e) {
            // told below
        }
        throw new ElectionException(uri + FORM);
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

package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A server that a URI names. Immutable.
 *
 * @param host its name or address; an address of IPv6 without brackets
 */
public record Endpoint(String host, int port) {
    private static final Map<String, Integer> USUAL_PORTS = Map.ofEntries(
            Map.entry("postgresql", 5432),
            Map.entry("mariadb", 3306),
            Map.entry("mysql", 3306),
            Map.entry("nats", 4222),
            Map.entry("tls", 4222),
            Map.entry("zk", 2181),
            Map.entry("kafka", 9092),
            Map.entry("etcd", 2379),
            Map.entry("consul", 8500),
            Map.entry("redis", 6379),
            Map.entry("rediss", 6379),
            Map.entry("valkey", 6379),
            Map.entry("valkeys", 6379));
    private static final Pattern JDBC =
            Pattern.compile("(?s)jdbc:(?<kind>[a-z0-9]+):(?:[a-z0-9-]+:)*//(?<hosts>[^/?#;()]+)(?:[/?#;].*)?");
    private static final Pattern ONE =
            Pattern.compile("(?<host>\\[[0-9a-fA-F:.%]+\\]|[^:\\[\\]()=]+)(?::(?<port>[^:]*))?");
    /** How those are named who are not at the beginning of the URI. */
    private static final Pattern HTTP = Pattern.compile("http(?<tls>s)?://(?<host>[^/?#@]+)/?");

    private static final Pattern ADDRESS = Pattern.compile("(?:[0-9]{1,3}\\.){3}[0-9]{1,3}|.*:.*");

    private static final int HTTP_PORT = 80;
    private static final int HTTPS_PORT = 443;
    /** No port has a larger number. */
    public static final int LARGEST_PORT = 65_535;

    /**
     * Returns the servers that a URI names, in their order; none if it names a file, or writes them in a way that only
     * its driver knows.
     *
     * @throws ElectionException if a port is none
     */
    public static List<Endpoint> of(ConnectUri uri) {
        var http = HTTP.matcher(uri.parameter("endpoint").orElse(""));
        if (http.matches()) {
            return one(http.group("host"), http.group("tls") == null ? HTTP_PORT : HTTPS_PORT, uri).stream()
                    .toList();
        }
        var jdbc = JDBC.matcher(uri.expanded());
        var isJdbc = jdbc.matches();
        var usual = USUAL_PORTS.get(isJdbc ? jdbc.group("kind") : uri.scheme());
        if (usual == null || isAmbiguous(uri, isJdbc)) {
            return List.of();
        }
        return Arrays.stream((isJdbc ? jdbc.group("hosts") : uri.authority()).split(",", -1))
                .map(String::strip)
                .flatMap(text -> one(text, usual, uri).stream())
                .toList();
    }

    /** A password with odd characters may make a part of it look like a host: then none is named. */
    private static boolean isAmbiguous(ConnectUri uri, boolean isJdbc) {
        return isJdbc
                ? uri.expanded().indexOf('@') >= 0
                : uri.ats() > (uri.userInfo().isEmpty() ? 0 : 1)
                        || uri.authority().indexOf('@') >= 0;
    }

    private static Optional<Endpoint> one(String text, int usual, ConnectUri uri) {
        var matcher = ONE.matcher(text);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        var host = matcher.group("host").replaceAll("[\\[\\]]", "");
        var port = matcher.group("port");
        return Optional.of(new Endpoint(host, port == null || port.isEmpty() ? usual : number(port, uri)));
    }

    /** Returns whether this number can be a port. */
    public static boolean isPort(int number) {
        return number > 0 && number <= LARGEST_PORT;
    }

    private static int number(String port, ConnectUri uri) {
        try {
            var number = Integer.parseInt(port);
            if (isPort(number)) {
                return number;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        // where there is a password with odd characters, this may be a part of it
        var shown = uri.expanded().indexOf('@') < 0 ? "the port \"" + port + '"' : "a port";
        throw new ElectionException(shown + " in " + uri + " is none: write a number from 1 to " + LARGEST_PORT);
    }

    /**
     * Returns, for people, why these servers may have given no answer: whether each has a name that is known, and takes
     * connections. Asks the network, all at a time, and waits no longer than this.
     */
    public static String complaints(List<Endpoint> endpoints, Duration patience) {
        var looks =
                endpoints.stream().distinct().map(one -> one.looked(patience)).toList();
        return looks.stream().map(CompletableFuture::join).distinct().collect(Collectors.joining("; "));
    }

    /** Where a name stands may not be told for long: that is given up. To connect takes its own time at most. */
    private CompletableFuture<String> looked(Duration patience) {
        var found = new CompletableFuture<String>();
        var named = new CompletableFuture<InetAddress>();
        var thread = new Thread(
                () -> {
                    try {
                        found.complete(look(named, patience));
                    } finally {
                        found.complete(this + " cannot be reached");
                    }
                },
                "bellwether-look");
        thread.setDaemon(true);
        thread.start();
        if (!ADDRESS.matcher(host).matches()) { // of which nobody is asked, however late our thread is
            var unused = named.orTimeout(2 * patience.toMillis(), TimeUnit.MILLISECONDS)
                    .whenComplete((known, late) -> {
                        if (late != null) {
                            found.complete("the network does not answer whether there is a host " + host);
                        }
                    });
        }
        return found;
    }

    private String look(CompletableFuture<InetAddress> named, Duration patience) {
        try (var socket = new Socket()) {
            var known = InetAddress.getByName(host);
            named.complete(known);
            socket.connect(new InetSocketAddress(known, port), (int) Math.max(1, patience.toMillis()));
            return this + " accepts connections and does not answer";
        } catch (UnknownHostException e) {
            return "unknown host " + host;
        } catch (ConnectException e) {
            return "connection to " + this + " refused";
        } catch (IOException e) {
            return this + " cannot be reached";
        }
    }

    /** Returns host and port as a URI has them. */
    @Override
    public String toString() {
        return (host.indexOf(':') < 0 ? host : '[' + host + ']') + ':' + port;
    }
}

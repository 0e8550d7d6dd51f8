package dev.bellwether.cli.demo;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.FaultProxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A backend that somebody else runs. Where its URI names one host, each candidate comes to it by a link of its own; not
 * to Kafka, whose brokers tell their clients where else to go, nor with TLS, which wants the name of the host to stay.
 */
final class GivenEngine implements Engine {
    private static final int PLACES = 6;
    private static final Map<String, Integer> PORTS = Map.of(
            "postgresql",
            5432,
            "mariadb",
            3306,
            "mysql",
            3306,
            "nats",
            4222,
            "zk",
            2181,
            "etcd",
            2379,
            "consul",
            8500,
            "redis",
            6379,
            "valkey",
            6379);
    private static final Pattern HOST = Pattern.compile(
            "(?:jdbc:)?([a-z]+)://(?:[^/?#@]*@)?(?<host>\\[[0-9a-fA-F:]+\\]|[A-Za-z0-9._-]+)(?::(?<port>\\d+))?"
                    + "(?=[/?#]|$)");
    private static final Pattern TLS = Pattern.compile("(?i)ssl|tls|^(?:rediss|valkeys):");

    private final ConnectUri uri;
    private final String election;
    private final List<FaultProxy> links;

    private GivenEngine(ConnectUri uri, String election, List<FaultProxy> links) {
        this.uri = uri;
        this.election = election;
        this.links = links;
    }

    static GivenEngine on(ConnectUri uri, String election) {
        var links = new ArrayList<FaultProxy>();
        var text = uri.expanded();
        var matcher = HOST.matcher(text);
        if (matcher.lookingAt() && !TLS.matcher(text).find()) {
            var port = matcher.group("port") == null
                    ? PORTS.get(matcher.group(1).toLowerCase(Locale.ROOT))
                    : PORTS.containsKey(matcher.group(1)) ? Integer.valueOf(matcher.group("port")) : null;
            for (var i = 0; port != null && i < PLACES; i++) {
                links.add(FaultProxy.to(matcher.group("host"), port));
            }
        }
        return new GivenEngine(uri, election, List.copyOf(links));
    }

    @Override
    public String describe() {
        return uri.toString();
    }

    @Override
    public int places() {
        return PLACES;
    }

    @Override
    public String uri(int place) {
        return links.isEmpty()
                ? uri.expanded()
                : through(uri.expanded(), links.get(place).port());
    }

    private static String through(String text, int port) {
        var matcher = HOST.matcher(text);
        if (!matcher.lookingAt()) {
            throw new IllegalStateException("no host to replace");
        }
        return text.substring(0, matcher.start("host")) + "127.0.0.1:" + port + text.substring(matcher.end());
    }

    @Override
    public String shownUri() {
        return uri.toString();
    }

    @Override
    public List<FaultProxy> links(int place) {
        return links.isEmpty() ? List.of() : List.of(links.get(place));
    }

    @Override
    public Optional<Server> server() {
        return Optional.empty();
    }

    @Override
    public void close() {
        links.forEach(FaultProxy::close);
        try (var elections = Elections.over(uri.connect(), ElectionsConfig.defaults())) {
            elections.election(election).delete();
        } catch (ElectionException e) {
            // It does not answer: the name stays in its list, and nobody stands there.
        }
    }
}

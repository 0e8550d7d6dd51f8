package dev.bellwether.nats;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import io.nats.client.api.StreamConfiguration;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Three servers. All that passes between the third and the others goes through proxies, so that it can be cut off.
 * Confined to one thread at a time.
 */
final class NatsCluster implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int ATTEMPTS = 4;
    static final int LONELY = 2;
    private static final String FOR_CLUSTERS = "nats-server-cluster";

    private final List<NatsServer> servers = new ArrayList<>();
    private final List<FaultProxy> routes = new ArrayList<>();

    NatsCluster() {
        this(FOR_CLUSTERS);
    }

    NatsCluster(String program) {
        this(program, "no_advertise: false");
    }

    /** One that tells clients of no other way to its servers: they must come by the addresses they are given. */
    static NatsCluster discreet() {
        return new NatsCluster(FOR_CLUSTERS, "no_advertise: true");
    }

    /** A port that was free may be taken when the server wants it: then all begin anew on others. */
    private NatsCluster(String program, String toClients) {
        for (var attempt = 1; ; attempt++) {
            try {
                launch(program, toClients);
                awaitReady();
                return;
            } catch (AssertionError | IllegalStateException e) {
                close();
                servers.clear();
                routes.clear();
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private void launch(String program, String toClients) {
        var cluster = "cluster-" + UUID.randomUUID();
        var ports = IntStream.range(0, 3).map(i -> Ports.free()).toArray();
        var inward = FaultProxy.to("127.0.0.1", ports[LONELY]);
        routes.add(inward);
        for (var i = 0; i < 3; i++) {
            var to = new ArrayList<Integer>();
            for (var j = 0; j < LONELY; j++) {
                if (i == LONELY) {
                    var outward = FaultProxy.to("127.0.0.1", ports[j]);
                    routes.add(outward);
                    to.add(outward.port());
                } else if (j != i) {
                    to.add(ports[j]);
                }
            }
            var advertised = i == LONELY ? inward.port() : ports[i];
            servers.add(new NatsServer(
                    Scripts.where(program),
                    "n" + i,
                    Ports.free(),
                    program.equals(FOR_CLUSTERS) ? "sync_interval: always" : "", // which older ones do not know
                    "cluster { name: \"%s\", listen: \"127.0.0.1:%d\", cluster_advertise: \"127.0.0.1:%d\", %s, routes: [%s] }"
                            .formatted(
                                    cluster,
                                    ports[i],
                                    advertised,
                                    toClients,
                                    to.stream()
                                            .map(port -> "\"nats://127.0.0.1:" + port + "\"")
                                            .collect(Collectors.joining(", ")))));
        }
        servers.forEach(NatsServer::awaitPort);
    }

    /** Waits until the three have a leader and make a bucket of three replicas. */
    private void awaitReady() {
        Eventually.eventually("the cluster is ready", PATIENCE.dividedBy(2), () -> {
            try (var admin = admin(0)) {
                return admin.ask(connection -> {
                    var management = connection.jetStreamManagement();
                    var made = management.addStream(StreamConfiguration.builder()
                            .name("ready")
                            .subjects("ready")
                            .replicas(3)
                            .build());
                    management.deleteStream("ready");
                    return made.getConfiguration().getReplicas() == 3;
                });
            } catch (IllegalStateException e) {
                return false; // not yet
            }
        });
    }

    NatsServer server(int i) {
        return servers.get(i);
    }

    /** Returns how to reach all of them. */
    String uri(String query) {
        return "nats://" + servers() + "?" + query;
    }

    /** Returns where all of them listen, separated by commas. */
    String servers() {
        return servers.stream().map(server -> "127.0.0.1:" + server.port()).collect(Collectors.joining(","));
    }

    Admin admin(int i) {
        return Admin.of(servers.get(i).port());
    }

    /** Cuts the third off from the two others. */
    void partition() {
        routes.forEach(FaultProxy::cut);
    }

    void heal() {
        routes.forEach(FaultProxy::heal);
    }

    /** Returns which of them leads the stream of a bucket. */
    int leader(String bucket) {
        return Eventually.eventually("the bucket has a leader", PATIENCE, () -> {
            for (var i = 0; i < servers.size(); i++) {
                try (var admin = admin(i)) {
                    var name = admin.ask(connection -> connection
                            .jetStreamManagement()
                            .getStreamInfo("KV_" + bucket)
                            .getClusterInfo()
                            .getLeader());
                    for (var j = 0; j < servers.size(); j++) {
                        if (servers.get(j).name().equals(name)) {
                            return Optional.of(j);
                        }
                    }
                } catch (IllegalStateException | UncheckedIOException e) {
                    // ask another
                }
            }
            return Optional.<Integer>empty();
        });
    }

    @Override
    public void close() {
        servers.forEach(NatsServer::close);
        routes.forEach(FaultProxy::close);
    }
}

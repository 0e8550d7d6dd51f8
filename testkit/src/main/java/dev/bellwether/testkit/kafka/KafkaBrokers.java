package dev.bellwether.testkit.kafka;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A Kafka cluster of one or more brokers, each a process of its own that can be killed, paused and started again.
 *
 * <p>Tuned for tests: sessions down to 10 ms, no delay before a group's first rebalance, internal topics of one
 * partition, and a cluster that notices a dead broker within two seconds. Each broker can also be reached by
 * {@link FaultProxy links}, and who comes in by one is told of no other way, to any broker: so a client can be cut off
 * from all brokers or from some. Needs {@code org.apache.kafka:kafka_2.13} on the class path, or a {@link Home} that
 * has it.
 *
 * <p>Thread-safe as far as different brokers are concerned. {@link #close} kills what runs and deletes what it wrote; a
 * process that ends without it takes its brokers along.
 */
public final class KafkaBrokers implements AutoCloseable {
    private static final String HOST = "127.0.0.1";
    private static final int ATTEMPTS = 5;

    private final Path directory;
    private final List<Broker> brokers;
    private final Thread atExit = new Thread(this::end);

    private KafkaBrokers(int count, int links, Map<String, String> settings, Home home) {
        directory = home.folder();
        var listeners = 2 + links;
        var ports = Ports.free(listeners * count);
        var nodes = IntStream.range(0, count)
                .mapToObj(i -> Node.of(i + 1, ports.subList(listeners * i, listeners * (i + 1))))
                .toList();
        brokers = nodes.stream()
                .map(node -> new Broker(node, home, properties(node, nodes, settings)))
                .toList();
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Starts so many brokers, without links, and returns when all of them serve. */
    public static KafkaBrokers start(int count) {
        return start(count, 0, Map.of());
    }

    /** Starts so many brokers with so many links to each, and with these properties beside or instead of ours. */
    public static KafkaBrokers start(int count, int links, Map<String, String> settings) {
        return start(count, links, settings, new Home(temporaryDirectory(), System.getProperty("java.class.path")));
    }

    /** Starts them in a home of your choice. */
    public static KafkaBrokers start(int count, int links, Map<String, String> settings, Home home) {
        for (var attempt = 1; ; attempt++) {
            var cluster = new KafkaBrokers(count, links, settings, home);
            try {
                cluster.brokers.forEach(Broker::launch);
                cluster.brokers.forEach(Broker::awaitServing);
                return cluster;
            } catch (RuntimeException e) {
                cluster.close();
                // a port that was free when we looked may be somebody's a second later
                if (attempt == ATTEMPTS || !String.valueOf(e.getMessage()).contains("Address already in use")) {
                    throw e;
                }
                makeDirectory(home.folder());
            }
        }
    }

    private static void makeDirectory(Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the addresses for {@code bootstrap.servers}. */
    public String bootstrap() {
        return brokers.stream().map(Broker::address).collect(Collectors.joining(","));
    }

    /** Returns the addresses for {@code bootstrap.servers} of a client that comes in by this link, counted from 0. */
    public String bootstrap(int link) {
        return brokers.stream()
                .map(broker -> HOST + ':' + broker.link(link).port())
                .collect(Collectors.joining(","));
    }

    /** Returns the links of this number to all brokers as one. */
    public Link link(int link) {
        return Link.all(brokers.stream().map(broker -> broker.link(link)).toList());
    }

    /** Returns the brokers, in the order of their ids, which begin at 1. */
    public List<Broker> brokers() {
        return brokers;
    }

    /** Returns the broker of this id. */
    public Broker broker(int id) {
        return brokers.get(id - 1);
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException exiting) {
            return; // the hook does the same
        }
        end();
        brokers.forEach(broker -> broker.links().forEach(FaultProxy::close));
    }

    private void end() {
        brokers.forEach(Broker::kill);
        ServerProcess.delete(directory);
    }

    private static Map<String, String> properties(Node node, List<Node> nodes, Map<String, String> settings) {
        var replicas = Integer.toString(Math.min(3, nodes.size()));
        var inSync = Integer.toString(Math.min(2, nodes.size()));
        var properties = new TreeMap<String, String>();
        properties.put("process.roles", "broker,controller");
        properties.put("node.id", Integer.toString(node.id));
        properties.put("listeners", node.listeners());
        properties.put("advertised.listeners", node.advertised());
        properties.put("listener.security.protocol.map", node.protocols());
        properties.put("inter.broker.listener.name", "PLAINTEXT");
        properties.put("controller.listener.names", "CONTROLLER");
        properties.put(
                "controller.quorum.voters",
                nodes.stream()
                        .map(n -> n.id + "@" + HOST + ':' + n.controllerPort)
                        .collect(Collectors.joining(",")));
        properties.put("broker.session.timeout.ms", "2000");
        properties.put("broker.heartbeat.interval.ms", "500");
        properties.put("metadata.max.idle.interval.ms", "5000"); // with the above, idle brokers take half as much
        properties.put("default.replication.factor", replicas);
        properties.put("min.insync.replicas", inSync);
        properties.put("replica.lag.time.max.ms", "2000");
        properties.put("offsets.topic.replication.factor", replicas);
        properties.put("offsets.topic.num.partitions", "1");
        properties.put("transaction.state.log.replication.factor", replicas);
        properties.put("transaction.state.log.min.isr", inSync);
        properties.put("transaction.state.log.num.partitions", "1");
        properties.put("share.coordinator.state.topic.num.partitions", "1");
        properties.put("share.coordinator.state.topic.replication.factor", replicas);
        properties.put("auto.create.topics.enable", "true"); // as stock brokers have it
        properties.put("group.min.session.timeout.ms", "10");
        properties.put("group.initial.rebalance.delay.ms", "0");
        properties.put("log.cleaner.dedupe.buffer.size", "4194304");
        properties.put("num.network.threads", "2");
        properties.put("num.io.threads", "4");
        properties.putAll(settings);
        return properties;
    }

    private static Path temporaryDirectory() {
        try {
            return Files.createTempDirectory("bellwether-kafka-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Where brokers live.
     *
     * @param folder which exists, and is deleted in the end
     * @param classPath with the testkit and {@code org.apache.kafka:kafka_2.13}; the programs that start brokers need
     *     not have it on theirs
     */
    public record Home(Path folder, String classPath) {}

    /** The ports of one; its links lead to its last ports. */
    record Node(int id, int controllerPort, int port, List<Integer> linkedPorts, List<FaultProxy> links) {
        private static Node of(int id, List<Integer> ports) {
            var linked = List.copyOf(ports.subList(2, ports.size()));
            var links = linked.stream().map(port -> FaultProxy.to(HOST, port)).toList();
            return new Node(id, ports.get(0), ports.get(1), linked, links);
        }

        private String listeners() {
            return "CONTROLLER://" + HOST + ':' + controllerPort + ",PLAINTEXT://" + HOST + ':' + port
                    + each(i -> ",LINK" + i + "://" + HOST + ':' + linkedPorts.get(i));
        }

        private String advertised() {
            return "PLAINTEXT://" + HOST + ':' + port
                    + each(i -> ",LINK" + i + "://" + HOST + ':' + links.get(i).port());
        }

        private String protocols() {
            return "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT" + each(i -> ",LINK" + i + ":PLAINTEXT");
        }

        private String each(IntFunction<String> part) {
            return IntStream.range(0, links.size()).mapToObj(part).collect(Collectors.joining());
        }
    }
}

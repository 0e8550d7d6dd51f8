package dev.bellwether.testkit.zookeeper;

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
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A ZooKeeper server, or an ensemble of several, each a process of its own that can be killed, paused and started
 * again.
 *
 * <p>Tuned for tests: a tick of 100 ms, sessions from 200 ms to a minute, and nothing forced to disk. Each server can
 * also be reached by {@link FaultProxy links}. Needs {@code org.apache.zookeeper:zookeeper} and what its server needs
 * on the class path.
 *
 * <p>Thread-safe as far as different servers are concerned. {@link #close} kills what runs and deletes what it wrote; a
 * process that ends without it takes its servers along.
 */
public final class ZooKeeperServers implements AutoCloseable {
    /** The milliseconds of a tick, unless told otherwise. */
    public static final int TICK_MILLIS = 100;

    static final String HOST = "127.0.0.1";

    private final Path directory;
    private final List<ZooKeeperServer> servers;
    private final Thread atExit = new Thread(this::end);

    private ZooKeeperServers(
            int count,
            int links,
            boolean advertising,
            Map<String, String> settings,
            Supplier<Map<String, String>> drawn,
            List<String> systemProperties) {
        try {
            directory = Files.createTempDirectory("bellwether-zookeeper-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var ports = Ports.free(3 * count);
        var common = settings(count, ports, advertising, settings);
        servers = IntStream.range(0, count)
                .mapToObj(i -> new ZooKeeperServer(
                        i + 1,
                        ports.get(3 * i),
                        IntStream.range(0, links)
                                .mapToObj(link -> FaultProxy.to(HOST, ports.get(3 * i)))
                                .toList(),
                        directory,
                        common,
                        drawn,
                        systemProperties))
                .toList();
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Starts so many servers with so many links to each, and returns when all of them serve. */
    public static ZooKeeperServers start(int count, int links) {
        return start(count, links, Map.of(), List.of());
    }

    /** Starts servers with these settings beside or instead of ours, and with these arguments to their JVM. */
    public static ZooKeeperServers start(
            int count, int links, Map<String, String> settings, List<String> jvmArguments) {
        return start(new ZooKeeperServers(count, links, false, settings, Map::of, jvmArguments));
    }

    /**
     * Starts servers that tell clients each other's addresses, as those of the official image do. A client that follows
     * what it is told comes in beside the links.
     */
    public static ZooKeeperServers startAdvertising(int count, int links) {
        return start(new ZooKeeperServers(count, links, true, Map.of(), Map::of, List.of()));
    }

    /** Starts servers each of which draws settings of its own, again at each start of it. */
    public static ZooKeeperServers startDrawing(int count, int links, Supplier<Map<String, String>> settings) {
        return start(new ZooKeeperServers(count, links, false, Map.of(), settings, List.of()));
    }

    private static ZooKeeperServers start(ZooKeeperServers ensemble) {
        try {
            ensemble.servers.forEach(ZooKeeperServer::launch);
            ensemble.servers.forEach(ZooKeeperServer::awaitServing);
            return ensemble;
        } catch (RuntimeException e) {
            ensemble.close();
            throw e;
        }
    }

    /** Returns the addresses of all. */
    public String addresses() {
        return servers.stream().map(ZooKeeperServer::address).collect(Collectors.joining(","));
    }

    /** Returns the addresses for a client that comes in by this link, counted from 0. */
    public String addresses(int link) {
        return servers.stream()
                .map(server -> HOST + ':' + server.link(link).port())
                .collect(Collectors.joining(","));
    }

    /** Returns the links of this number to all servers as one. */
    public Link link(int link) {
        return Link.all(servers.stream().map(server -> server.link(link)).toList());
    }

    /** Returns the servers, in the order of their ids, which begin at 1. */
    public List<ZooKeeperServer> servers() {
        return servers;
    }

    /** Returns the server that leads the others, or is alone; waits until there is one. */
    public ZooKeeperServer leader() {
        while (true) {
            for (var server : servers) {
                if (server.leads()) {
                    return server;
                }
            }
            Thread.onSpinWait();
        }
    }

    /** Returns one that does not lead. */
    public ZooKeeperServer follower() {
        return servers.stream()
                .filter(server -> !server.leads())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("there is only a leader"));
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException exiting) {
            return; // the hook does the same
        }
        end();
        servers.forEach(server -> server.links().forEach(FaultProxy::close));
    }

    private void end() {
        servers.forEach(ZooKeeperServer::kill);
        ServerProcess.delete(directory);
    }

    private static Map<String, String> settings(
            int count, List<Integer> ports, boolean advertising, Map<String, String> given) {
        var settings = new TreeMap<String, String>();
        settings.put("tickTime", Integer.toString(TICK_MILLIS));
        settings.put("initLimit", "100");
        settings.put("syncLimit", "30");
        settings.put("maxSessionTimeout", "60000");
        settings.put("maxClientCnxns", "0");
        settings.put("clientPortAddress", HOST);
        settings.put("admin.enableServer", "false");
        settings.put("4lw.commands.whitelist", "*");
        settings.put("standaloneEnabled", "true");
        for (var i = 0; i < count && count > 1; i++) {
            var peers = HOST + ':' + ports.get(3 * i + 1) + ':' + ports.get(3 * i + 2);
            var clients = advertising ? ';' + HOST + ':' + ports.get(3 * i) : "";
            settings.put("server." + (i + 1), peers + clients);
        }
        settings.putAll(given);
        return settings;
    }
}

package dev.bellwether.testkit.zookeeper;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.servers.JvmServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * One server of a {@link ZooKeeperServers}: a process that can be killed, paused, and started again with what it had on
 * disk.
 */
public final class ZooKeeperServer extends JvmServer {
    private final int id;
    private final int port;
    private final List<FaultProxy> links;
    private final Path config;
    private final List<String> systemProperties;
    private final Map<String, String> settings;
    private final Supplier<Map<String, String>> drawn;

    ZooKeeperServer(
            int id,
            int port,
            List<FaultProxy> links,
            Path parent,
            Map<String, String> settings,
            Supplier<Map<String, String>> drawn,
            List<String> properties) {
        super("server " + id, parent.resolve("server-" + id).resolve("output"));
        this.id = id;
        this.port = port;
        this.links = links;
        systemProperties = properties;
        var directory = parent.resolve("server-" + id);
        config = directory.resolve("zoo.cfg");
        try {
            var data = Files.createDirectories(directory.resolve("data"));
            Files.writeString(data.resolve("myid"), Integer.toString(id));
            this.settings = new TreeMap<>(settings);
            this.settings.put("clientPort", Integer.toString(port));
            this.settings.put("dataDir", data.toString());
            this.drawn = drawn;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void writeConfig() throws IOException {
        var all = new TreeMap<>(settings);
        all.putAll(drawn.get());
        var lines = all.entrySet().stream()
                .map(entry -> entry.getKey() + '=' + entry.getValue() + '\n')
                .collect(Collectors.joining());
        Files.writeString(config, lines);
    }

    /** Returns its id. */
    public int id() {
        return id;
    }

    /** Returns where it listens. */
    public String address() {
        return ZooKeeperServers.HOST + ':' + port;
    }

    /** Returns its link of this number, counted from 0. */
    public FaultProxy link(int number) {
        return links.get(number);
    }

    List<FaultProxy> links() {
        return links;
    }

    /** Returns whether it leads its ensemble, or is alone. */
    public boolean leads() {
        var state = figures().get("zk_server_state");
        return "leader".equals(state) || "standalone".equals(state);
    }

    /** Returns its figures, by the names of the command {@code mntr}; none if it does not serve. */
    public Map<String, String> figures() {
        var figures = new TreeMap<String, String>();
        for (var line : ask("mntr").split("\n", -1)) {
            var tab = line.indexOf('\t');
            if (tab > 0) {
                figures.put(line.substring(0, tab), line.substring(tab + 1));
            }
        }
        return figures;
    }

    /** Returns a figure that is a whole number; 0 if there is none. */
    public long figure(String name) {
        return (long) Double.parseDouble(figures().getOrDefault(name, "0"));
    }

    /** Returns the answer to a command of four letters; empty if the server does not answer. */
    public String ask(String command) {
        try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(10_000);
            socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    @Override
    protected List<String> command() throws IOException {
        writeConfig();
        var command = new ArrayList<>(List.of(
                JAVA,
                "-Xmx192m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dzookeeper.forceSync=no",
                "-Dzookeeper.preAllocSize=64",
                "-Dzookeeper.jmx.log4j.disable=true"));
        command.addAll(systemProperties);
        command.addAll(program(ServerMain.class, System.getProperty("java.class.path")));
        command.add(config.toString());
        return command;
    }

    @Override
    protected boolean serves() {
        return figures().containsKey("zk_server_state");
    }
}

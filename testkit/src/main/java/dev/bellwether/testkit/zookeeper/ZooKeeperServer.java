package dev.bellwether.testkit.zookeeper;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One server of a {@link ZooKeeperServers}: a process that can be killed, paused, and started again with what it had on
 * disk.
 */
public final class ZooKeeperServer implements BenchEnvironment.Server {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final int id;
    private final int port;
    private final List<FaultProxy> links;
    private final Path config;
    private final Path output;
    private final List<String> systemProperties;
    private final Map<String, String> settings;
    private final Supplier<Map<String, String>> drawn;
    private @Nullable Process process;

    ZooKeeperServer(
            int id,
            int port,
            List<FaultProxy> links,
            Path parent,
            Map<String, String> settings,
            Supplier<Map<String, String>> drawn,
            List<String> properties) {
        this.id = id;
        this.port = port;
        this.links = links;
        systemProperties = properties;
        var directory = parent.resolve("server-" + id);
        config = directory.resolve("zoo.cfg");
        output = directory.resolve("output");
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

    @Override
    public String name() {
        return "server " + id;
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

    /** Returns the id of its process. */
    public synchronized long pid() {
        return running().pid();
    }

    /** Starts it again, and returns when it serves. */
    @Override
    public void start() {
        launch();
        awaitServing();
    }

    /** Kills it, by SIGKILL. Does nothing if it does not run. */
    @Override
    public synchronized void kill() {
        var running = process;
        if (running != null) {
            running.destroyForcibly();
            try {
                if (!running.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    throw new IllegalStateException("server " + id + " did not end within " + PATIENCE);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while server " + id + " was to end", e);
            }
            process = null;
        }
    }

    /** Freezes it: connections stay, answers do not come. */
    @Override
    public void pause() {
        signal("STOP");
    }

    /** Lets it go on. */
    @Override
    public void resume() {
        signal("CONT");
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

    /** Returns what it has printed since its start. */
    public String output() {
        try {
            return Files.readString(output, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    synchronized void launch() {
        if (process != null) {
            throw new IllegalStateException("server " + id + " runs already");
        }
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var command = new ArrayList<>(List.of(
                java,
                "-Xmx192m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dzookeeper.forceSync=no",
                "-Dzookeeper.preAllocSize=64",
                "-Dzookeeper.jmx.log4j.disable=true"));
        command.addAll(systemProperties);
        command.addAll(
                List.of("-cp", System.getProperty("java.class.path"), ServerMain.class.getName(), config.toString()));
        try {
            writeConfig();
            Files.deleteIfExists(output);
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("could not start server " + id, e);
        }
    }

    void awaitServing() {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!figures().containsKey("zk_server_state")) {
            synchronized (this) {
                if (!running().isAlive()) {
                    throw new IllegalStateException("server " + id + " ended while starting:\n" + output());
                }
            }
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException(
                        "server " + id + " does not serve after " + PATIENCE + ":\n" + output());
            }
            pauseBriefly();
        }
    }

    private Process running() {
        if (process == null) {
            throw new IllegalStateException("server " + id + " does not run");
        }
        return process;
    }

    private void signal(String name) {
        try {
            var code = new ProcessBuilder("kill", "-" + name, Long.toString(pid()))
                    .start()
                    .waitFor();
            if (code != 0) {
                throw new IllegalStateException("kill -" + name + " of server " + id + " failed with code " + code);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void pauseBriefly() {
        try {
            TimeUnit.MILLISECONDS.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a server was to start", e);
        }
    }
}

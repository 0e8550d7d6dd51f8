package dev.bellwether.testkit.nats;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.faults.Ground;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Scripts;
import dev.bellwether.testkit.servers.Undertaker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;

/** A nats-server with JetStream of one's own, which can be killed, frozen and started again. Confined to one thread at a time. */
public final class NatsServer implements Ground.Server, AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path folder;
    private final String program;
    private final String name;
    private final int port;
    private final String jetStream;
    private String extra;
    private Process server;
    private Process undertaker;

    /** Starts one by the program of this name, and returns before it serves. */
    public NatsServer(String program, String name, int port, String extra) {
        this(program, name, port, "", extra);
    }

    /** What is said of JetStream, beside where it keeps its data, and what else is configured. */
    public NatsServer(String program, String name, int port, String jetStream, String extra) {
        this.jetStream = jetStream;
        this.program = Scripts.where(program);
        this.name = name;
        this.port = port;
        this.extra = extra;
        try {
            folder = Files.createTempDirectory("bellwether-" + name);
            server = launch();
        } catch (IOException e) {
            throw new UncheckedIOException(name + " did not start", e);
        }
        undertaker = Undertaker.watch(server.pid());
    }

    /** Starts one by itself, with these settings. */
    public static NatsServer alone(String extra) {
        var server = new NatsServer("nats-server", "nats", Ports.free(), extra);
        server.awaitPort();
        return server;
    }

    /** Starts one by itself, without further settings. */
    public static NatsServer alone() {
        return alone("");
    }

    /** Returns where it listens. */
    public int port() {
        return port;
    }

    @Override
    public String name() {
        return name;
    }

    /** Returns how to reach it. */
    public String uri(String query) {
        return uri(port, query);
    }

    /** Returns how to reach one by another port: that of a proxy. */
    public static String uri(int port, String query) {
        return "nats://127.0.0.1:" + port + "?" + query;
    }

    @Override
    public void kill() {
        end("KILL");
    }

    /** Lets it take leave of the others. */
    public void stop() {
        end("TERM");
    }

    private void end(String signal) {
        undertaker.destroy();
        Undertaker.signal(signal, server.pid());
        try {
            server.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void start() {
        try {
            server = launch();
        } catch (IOException e) {
            throw new UncheckedIOException(name + " did not start again", e);
        }
        undertaker = Undertaker.watch(server.pid());
        awaitPort();
    }

    /** Kills it, and starts it again with what it had on disk. */
    public void crashAndRestart() {
        kill();
        start();
    }

    @Override
    public void pause() {
        Undertaker.signal("STOP", server.pid());
    }

    @Override
    public void resume() {
        Undertaker.signal("CONT", server.pid());
    }

    /** Has it take other settings while it runs, beside those of JetStream. */
    public void reload(String settings) {
        extra = settings;
        try {
            var ignored = configure();
        } catch (IOException e) {
            throw new UncheckedIOException(name + " cannot be told", e);
        }
        Undertaker.signal("HUP", server.pid());
    }

    /** Kills it, keeps what it has on disk, and starts it again. */
    public void save() {
        kill();
        copy(folder.resolve("data"), folder.resolve("saved"));
        start();
    }

    /** Kills it, puts back what was kept, and starts it again: all that was written since is forgotten. */
    public void restore() {
        kill();
        copy(folder.resolve("saved"), folder.resolve("data"));
        start();
    }

    private static void copy(Path from, Path to) {
        try {
            if (Files.exists(to)) {
                try (var all = Files.walk(to)) {
                    for (var path : all.sorted(Comparator.reverseOrder()).toList()) {
                        Files.delete(path);
                    }
                }
            }
            try (var all = Files.walk(from)) {
                for (var path : all.toList()) {
                    Files.copy(path, to.resolve(from.relativize(path).toString()));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(from + " was not copied", e);
        }
    }

    /** Waits until it takes connections. */
    public void awaitPort() {
        Eventually.eventually(name + " answers", PATIENCE, () -> {
            try (var socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_000);
                return true;
            } catch (IOException e) {
                if (!server.isAlive()) {
                    throw new AssertionError(name + " has ended: " + log());
                }
                return false; // starting up
            }
        });
    }

    /** Returns what it has printed. */
    public String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            return "no log: " + e;
        }
    }

    private Path configure() throws IOException {
        return Files.writeString(
                folder.resolve("conf"), """
                server_name: "%s"
                listen: "127.0.0.1:%d"
                jetstream {
                  store_dir: "%s"
                  %s
                }
                %s
                """.formatted(name, port, folder.resolve("data"), jetStream, extra));
    }

    private Process launch() throws IOException {
        var configuration = configure();
        return new ProcessBuilder(List.of(program, "-c", configuration.toString()))
                .redirectErrorStream(true)
                .redirectOutput(
                        ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
                .start();
    }

    @Override
    public void close() {
        kill();
    }
}

package dev.bellwether.nats;

import dev.bellwether.testkit.Eventually;
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
import java.util.List;

/** A nats-server with JetStream of the tests' own, which can be killed, frozen and started again. Confined to one thread at a time. */
final class NatsServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path folder;
    private final String program;
    private final String name;
    private final int port;
    private final String jetStream;
    private final String extra;
    private Process server;
    private Process undertaker;

    NatsServer(String program, String name, int port, String extra) {
        this(program, name, port, "", extra);
    }

    /** What is said of JetStream, beside where it keeps its data, and what else is configured. */
    NatsServer(String program, String name, int port, String jetStream, String extra) {
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

    /** Starts one by itself. */
    static NatsServer alone(String extra) {
        var server = new NatsServer("nats-server", "nats", Ports.free(), extra);
        server.awaitPort();
        return server;
    }

    static NatsServer alone() {
        return alone("");
    }

    int port() {
        return port;
    }

    String name() {
        return name;
    }

    String uri(String query) {
        return uri(port, query);
    }

    static String uri(int port, String query) {
        return "nats://127.0.0.1:" + port + "?" + query;
    }

    void kill() {
        end("KILL");
    }

    /** Lets it take leave of the others. */
    void stop() {
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

    void start() {
        try {
            server = launch();
        } catch (IOException e) {
            throw new UncheckedIOException(name + " did not start again", e);
        }
        undertaker = Undertaker.watch(server.pid());
        awaitPort();
    }

    void crashAndRestart() {
        kill();
        start();
    }

    void pause() {
        Undertaker.signal("STOP", server.pid());
    }

    void resume() {
        Undertaker.signal("CONT", server.pid());
    }

    void awaitPort() {
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

    String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            return "no log: " + e;
        }
    }

    private Process launch() throws IOException {
        var configuration = Files.writeString(
                folder.resolve("conf"), """
                server_name: "%s"
                listen: "127.0.0.1:%d"
                jetstream {
                  store_dir: "%s"
                  %s
                }
                %s
                """.formatted(name, port, folder.resolve("data"), jetStream, extra));
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

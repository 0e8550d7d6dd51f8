package dev.bellwether.testkit.nats;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.ProcessReaper;
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

/**
 * A nats-server with JetStream of one's own, which can be killed, frozen and started again. Anybody who starts it says
 * where its program is. It keeps its data in a temporary folder, and takes that along when it is closed. Confined to
 * one thread at a time.
 */
public final class NatsServer implements BenchEnvironment.Server, AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path folder;
    private final String program;
    private final String name;
    private final int port;
    private final String jetStream;
    private String extra;
    private Process server;
    private Process undertaker;

    /**
     * Starts one, and returns before it serves.
     *
     * @param program the path of nats-server, or its name if it is on the path of the system
     * @param extra what else is configured, in the language of its configuration file
     */
    public NatsServer(String program, String name, int port, String extra) {
        this(program, name, port, "", extra);
    }

    /**
     * Starts one, and returns before it serves.
     *
     * @param program the path of nats-server, or its name if it is on the path of the system
     * @param jetStream what is configured of JetStream, beside where it keeps its data
     * @param extra what else is configured
     */
    public NatsServer(String program, String name, int port, String jetStream, String extra) {
        this.jetStream = jetStream;
        this.program = program;
        this.name = name;
        this.port = port;
        this.extra = extra;
        try {
            folder = Files.createTempDirectory("bellwether-" + name);
        } catch (IOException e) {
            throw new UncheckedIOException("no folder for " + name, e);
        }
        try {
            server = launch();
        } catch (IOException e) {
            delete(folder);
            throw new UncheckedIOException(
                    name + " did not start by " + program
                            + ": give the path of nats-server, or put it on the path of the system",
                    e);
        }
        undertaker = ProcessReaper.watch(server.pid());
    }

    /**
     * Starts one by itself, and returns when it serves.
     *
     * @param program the path of nats-server, or its name if it is on the path of the system
     * @param extra what else is configured; may be empty
     */
    public static NatsServer alone(String program, String extra) {
        var server = new NatsServer(program, "nats", Ports.free(), extra);
        try {
            server.awaitPort();
            return server;
        } catch (Throwable e) {
            server.close();
            throw e;
        }
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
        if (!server.isAlive()) {
            return; // its number may be another's by now
        }
        ProcessReaper.signal(signal, server.pid());
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
        undertaker = ProcessReaper.watch(server.pid());
        awaitPort();
    }

    /** Kills it, and starts it again with what it had on disk. */
    public void crashAndRestart() {
        kill();
        start();
    }

    @Override
    public void pause() {
        ProcessReaper.signal("STOP", server.pid());
    }

    @Override
    public void resume() {
        ProcessReaper.signal("CONT", server.pid());
    }

    /** Has it take other settings while it runs, beside those of JetStream. */
    public void reload(String settings) {
        extra = settings;
        try {
            var ignored = configure();
        } catch (IOException e) {
            throw new UncheckedIOException(name + " cannot be told", e);
        }
        ProcessReaper.signal("HUP", server.pid());
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
        delete(to);
        try (var all = Files.walk(from)) {
            for (var path : all.toList()) {
                Files.copy(path, to.resolve(from.relativize(path).toString()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(from + " was not copied", e);
        }
    }

    private static void delete(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        try (var all = Files.walk(folder)) {
            for (var path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(folder + " was not deleted", e);
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

    /** Kills it and deletes what it has written, its log included. */
    @Override
    public void close() {
        kill();
        delete(folder);
    }
}

package dev.bellwether.spring;

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
import org.springframework.util.FileSystemUtils;

/** A nats-server with JetStream of the tests' own, which can be killed and started again. Confined to one thread. */
final class NatsProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path folder;
    private final int port = Ports.free();
    private Process server;
    private Process undertaker;

    private NatsProcess(Path folder) throws IOException {
        this.folder = folder;
        server = launch();
        undertaker = Undertaker.watch(server.pid());
        awaitPort();
    }

    static NatsProcess start() {
        try {
            return new NatsProcess(Files.createTempDirectory("bellwether-spring-nats"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String uri() {
        return "nats://127.0.0.1:" + port;
    }

    void kill() {
        undertaker.destroy();
        server.destroyForcibly();
        server.onExit().join();
    }

    void startAgain() {
        try {
            server = launch();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        undertaker = Undertaker.watch(server.pid());
        awaitPort();
    }

    private Process launch() throws IOException {
        return new ProcessBuilder(
                        Scripts.where("nats-server"),
                        "-a",
                        "127.0.0.1",
                        "-p",
                        Integer.toString(port),
                        "-js",
                        "-sd",
                        folder.toString())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(folder.resolve("log").toFile())
                .start();
    }

    private void awaitPort() {
        Eventually.eventually("nats-server answers", PATIENCE, () -> {
            try (var socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_000);
                return true;
            } catch (IOException e) {
                return false; // starting up
            }
        });
    }

    @Override
    public void close() throws IOException {
        kill();
        FileSystemUtils.deleteRecursively(folder);
    }
}

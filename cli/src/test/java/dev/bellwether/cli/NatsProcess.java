package dev.bellwether.cli;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Scripts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.time.Duration;

/** A nats-server with JetStream of the tests' own, which does not outlive this JVM. */
final class NatsProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** Waits for the end of a pipe, which the system closes if this JVM is killed, and then kills the one process. */
    private static final String WATCHED = "\"$@\" & read never; kill -9 $!; wait";

    private final Process shell;
    private final int port;

    private NatsProcess(Process shell, int port) {
        this.shell = shell;
        this.port = port;
    }

    static NatsProcess start() {
        try {
            var port = Ports.free();
            var folder = Files.createTempDirectory("bellwether-cli-nats");
            var shell = new ProcessBuilder(
                            "sh",
                            "-c",
                            WATCHED,
                            "nats",
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
            Eventually.eventually("nats-server answers", PATIENCE, () -> answers(port));
            return new NatsProcess(shell, port);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int port() {
        return port;
    }

    private static boolean answers(int port) {
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_000);
            return true;
        } catch (IOException e) {
            return false; // starting up
        }
    }

    @Override
    public void close() {
        try {
            shell.getOutputStream().close();
        } catch (IOException e) {
            shell.descendants().forEach(ProcessHandle::destroyForcibly);
        }
        shell.onExit().join();
    }
}

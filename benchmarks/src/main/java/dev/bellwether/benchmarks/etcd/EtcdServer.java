package dev.bellwether.benchmarks.etcd;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Undertaker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;

/** One server of etcd, with its defaults but for where it listens. */
final class EtcdServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final int port = Ports.free();
    private final Path folder;
    private final Process process;
    private final Process undertaker;

    EtcdServer() {
        var clients = url(port);
        var peers = url(Ports.free());
        try {
            folder = Files.createTempDirectory("bellwether-etcd-");
            process = new ProcessBuilder(
                            Scripts.where("etcd"),
                            "--data-dir=" + folder.resolve("data"),
                            "--listen-client-urls=" + clients,
                            "--advertise-client-urls=" + clients,
                            "--listen-peer-urls=" + peers,
                            "--initial-advertise-peer-urls=" + peers,
                            "--initial-cluster=default=" + peers)
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("log").toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("etcd did not start", e);
        }
        undertaker = Undertaker.watch(process.pid());
        Eventually.eventually("etcd answers", PATIENCE, () -> {
            try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                return socket.isConnected();
            } catch (IOException e) {
                if (!process.isAlive()) {
                    throw new AssertionError("etcd has ended", e);
                }
                return false; // starting up
            }
        });
    }

    int port() {
        return port;
    }

    static String url(int port) {
        return "http://127.0.0.1:" + port;
    }

    @Override
    public void close() {
        undertaker.destroy();
        try {
            process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        delete();
    }

    /** It keeps 64 MB in reserve. */
    private void delete() {
        try (var files = Files.walk(folder, new FileVisitOption[0])) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

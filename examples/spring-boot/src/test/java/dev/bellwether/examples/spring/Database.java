package dev.bellwether.examples.spring;

import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.ProcessReaper;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.springframework.util.FileSystemUtils;

/** A PostgreSQL of the test's own, which can be killed and started again. Confined to one thread at a time. */
final class Database implements AutoCloseable {
    private final Path data;
    private final int port = Ports.free();
    private EmbeddedPostgres server;
    private Process undertaker;

    private Database(Path data) throws IOException {
        this.data = data;
        server = server();
        undertaker = ProcessReaper.watch(postmaster());
    }

    static Database start() throws IOException {
        return new Database(Files.createTempDirectory("bellwether-pg"));
    }

    private EmbeddedPostgres server() throws IOException {
        return EmbeddedPostgres.builder()
                .setPort(port)
                .setDataDirectory(data)
                .setCleanDataDirectory(false)
                .setPGStartupWait(Duration.ofSeconds(60))
                .setServerConfig("fsync", "off")
                .start();
    }

    /** Kills it without a word. */
    void kill() throws IOException {
        var postmaster = postmaster();
        undertaker.destroy();
        ProcessReaper.signal("KILL", postmaster);
        server.close(); // finds nothing to stop, and gives up the folder
    }

    /** Starts it with what it had on disk when it was killed; returns when it answers. */
    void startAgain() throws IOException {
        server = server();
        undertaker = ProcessReaper.watch(postmaster());
    }

    private long postmaster() throws IOException {
        try (var lines = Files.lines(data.resolve("postmaster.pid"))) {
            return Long.parseLong(lines.findFirst().orElseThrow());
        }
    }

    String uri() {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
    }

    @Override
    public void close() throws IOException {
        undertaker.destroy();
        server.close();
        FileSystemUtils.deleteRecursively(data);
    }
}

package dev.bellwether.examples.spring;

import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Undertaker;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** A PostgreSQL of the test's own. */
final class Database implements AutoCloseable {
    private final EmbeddedPostgres server;
    private final Process undertaker;

    private Database(EmbeddedPostgres server, long postmaster) {
        this.server = server;
        undertaker = Undertaker.watch(postmaster);
    }

    static Database start() throws IOException {
        var data = Files.createTempDirectory("bellwether-pg");
        var server = EmbeddedPostgres.builder()
                .setPort(Ports.free())
                .setDataDirectory(data)
                .setPGStartupWait(Duration.ofSeconds(60))
                .setServerConfig("fsync", "off")
                .start();
        return new Database(server, postmaster(data));
    }

    private static long postmaster(Path data) throws IOException {
        try (var lines = Files.lines(data.resolve("postmaster.pid"))) {
            return Long.parseLong(lines.findFirst().orElseThrow());
        }
    }

    String uri() {
        return "jdbc:postgresql://127.0.0.1:" + server.getPort() + "/postgres?user=postgres";
    }

    @Override
    public void close() throws IOException {
        undertaker.destroy();
        server.close();
    }
}

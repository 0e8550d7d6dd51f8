package dev.bellwether.sql;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Undertaker;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL of the tests' own, which can be killed, frozen and started again. Confined to one thread at a time. */
final class PostgresServer implements AutoCloseable {
    private static @Nullable PostgresServer shared; // ends with this JVM

    private final Path data;
    private final EmbeddedPostgres server;
    private Process undertaker;
    private List<String> command = List.of();
    private Map<String, String> environment = Map.of();

    private PostgresServer(Path data, String fsync) throws IOException {
        this.data = data;
        server = EmbeddedPostgres.builder()
                .setPort(Ports.free())
                .setDataDirectory(data)
                .setPGStartupWait(Duration.ofSeconds(60))
                .setServerConfig("fsync", fsync)
                .setServerConfig("shared_preload_libraries", "pg_stat_statements")
                .setServerConfig("max_connections", "200")
                .start();
        undertaker = Undertaker.watch(postmaster());
    }

    /** Returns the one that tests share. */
    static synchronized PostgresServer shared() {
        if (shared == null) {
            shared = start();
        }
        return shared;
    }

    static PostgresServer start() {
        return start("off");
    }

    /** Starts one that waits for the disk or not: {@code on} or {@code off}. */
    static PostgresServer start(String fsync) {
        try {
            return new PostgresServer(Files.createTempDirectory("bellwether-pg"), fsync);
        } catch (IOException e) {
            throw new UncheckedIOException("PostgreSQL did not start", e);
        }
    }

    int port() {
        return server.getPort();
    }

    String uri() {
        return uri(port());
    }

    /** Returns how to reach it by another port: that of a proxy. */
    static String uri(int port) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(uri());
    }

    /** Kills it without a word, and starts it again with what it had on disk. */
    void crashAndRestart() {
        kill();
        startAgain();
    }

    /** Kills it, and starts it again with something in its environment, for good. */
    void restart(Map<String, String> more) {
        environment = more;
        crashAndRestart();
    }

    /** Kills it without a word. */
    void kill() {
        undertaker.destroy();
        var postmaster = ProcessHandle.of(postmaster()).orElseThrow();
        var line = new ArrayList<String>();
        if (System.getProperty("user.name").equals("root")) {
            line.addAll(List.of("unshare", "-U")); // which is how it was started: it refuses to run as root
        }
        line.add(postmaster.info().command().orElseThrow());
        line.addAll(List.of(postmaster.info().arguments().orElseThrow()));
        command = line;
        var processes = processes(postmaster.pid()).toList();
        Undertaker.signal("KILL", postmaster.pid());
        Eventually.eventually(
                "it is dead", Duration.ofSeconds(60), () -> processes.stream().noneMatch(ProcessHandle::isAlive));
    }

    /** Starts it with what it had on disk when it was killed; returns when it answers. */
    void startAgain() {
        try {
            var builder = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD);
            builder.environment().putAll(environment);
            builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException("PostgreSQL did not start again: " + command, e);
        }
        Eventually.eventually("PostgreSQL answers again", Duration.ofSeconds(60), () -> {
            try (var connection = connect()) {
                return connection.isValid(1);
            } catch (SQLException e) {
                return false; // starting up
            }
        });
        undertaker = Undertaker.watch(postmaster());
    }

    void pause() {
        processes(postmaster()).forEach(process -> Undertaker.signal("STOP", process.pid()));
    }

    void resume() {
        processes(postmaster()).forEach(process -> Undertaker.signal("CONT", process.pid()));
    }

    private static Stream<ProcessHandle> processes(long postmaster) {
        return ProcessHandle.of(postmaster).stream()
                .flatMap(process -> Stream.concat(Stream.of(process), process.descendants()));
    }

    private long postmaster() {
        try (var lines = Files.lines(data.resolve("postmaster.pid"))) {
            return Long.parseLong(lines.findFirst().orElseThrow());
        } catch (IOException e) {
            throw new UncheckedIOException("no server in " + data, e);
        }
    }

    @Override
    public void close() {
        undertaker.destroy();
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException("PostgreSQL did not stop", e);
        }
    }
}

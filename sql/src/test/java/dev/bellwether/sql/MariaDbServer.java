package dev.bellwether.sql;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Undertaker;
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
import org.jspecify.annotations.Nullable;

/** A MariaDB of the tests' own, which can be killed, frozen and started again. Confined to one thread at a time. */
final class MariaDbServer implements AutoCloseable {
    private static @Nullable MariaDbServer shared; // ends with this JVM

    private final Path folder;
    private final String program;
    private final int port;
    private final List<String> more;
    private final Map<String, String> environment;
    private Process server;
    private Process undertaker;

    private MariaDbServer(Path folder, List<String> more, Map<String, String> environment) throws IOException {
        this.environment = environment;
        this.folder = folder;
        this.more = more;
        program = Scripts.where("mariadbd");
        port = Ports.free();
        bootstrap();
        server = launch();
        undertaker = Undertaker.watch(server.pid());
        awaitAnswer();
        try (var connection = DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
                var statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE bellwether");
        } catch (SQLException e) {
            throw new IllegalStateException("no database", e);
        }
    }

    static synchronized MariaDbServer shared() {
        if (shared == null) {
            shared = start();
        }
        return shared;
    }

    /** Starts one with further options. */
    static MariaDbServer start(String... options) {
        return start(Map.of(), options);
    }

    /** Starts one with something in its environment. */
    static MariaDbServer start(Map<String, String> environment, String... options) {
        try {
            return new MariaDbServer(Files.createTempDirectory("bellwether-mariadb"), List.of(options), environment);
        } catch (IOException e) {
            throw new UncheckedIOException("MariaDB did not start", e);
        }
    }

    int port() {
        return port;
    }

    String uri() {
        return uri(port);
    }

    /** Returns how to reach it by another port: that of a proxy. */
    static String uri(int port) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/bellwether?user=root";
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(uri());
    }

    /** Kills it without a word, and starts it again with what it had on disk. */
    void crashAndRestart() {
        kill();
        startAgain();
    }

    /** Kills it without a word. */
    void kill() {
        undertaker.destroy();
        Undertaker.signal("KILL", server.pid());
        server.onExit().join();
    }

    /** Starts it with what it had on disk when it was killed; returns when it answers. */
    void startAgain() {
        try {
            server = launch();
        } catch (IOException e) {
            throw new UncheckedIOException("MariaDB did not start again", e);
        }
        undertaker = Undertaker.watch(server.pid());
        awaitAnswer();
    }

    /** Kills it for good. */
    @Override
    public void close() {
        undertaker.destroy();
        Undertaker.signal("KILL", server.pid());
        try {
            server.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void pause() {
        Undertaker.signal("STOP", server.pid());
    }

    void resume() {
        Undertaker.signal("CONT", server.pid());
    }

    private void bootstrap() throws IOException {
        Files.createDirectory(folder.resolve("data"));
        var script = new StringBuilder("""
                create database if not exists mysql;
                use mysql;
                set @auth_root_socket=NULL;
                set @skip_auth_anonymous=1;
                """);
        var share = Path.of(Scripts.where("mariadb-share"));
        for (var part :
                List.of("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")) {
            script.append(Files.readString(share.resolve(part)));
        }
        var input = Files.writeString(folder.resolve("bootstrap.sql"), script);
        var process = new ProcessBuilder(command("--bootstrap"))
                .redirectInput(input.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("bootstrap.log").toFile())
                .start();
        try {
            if (process.waitFor() != 0) {
                throw new IOException("no data: " + Files.readString(folder.resolve("bootstrap.log")));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Process launch() throws IOException {
        var options = new ArrayList<>(more);
        options.addAll(List.of(
                "--socket=" + folder.resolve("s"),
                "--pid-file=" + folder.resolve("pid"),
                "--bind-address=127.0.0.1",
                "--port=" + port,
                // it is the process that we kill, not the machine: the system has what was written
                "--innodb-flush-log-at-trx-commit=2"));
        var builder = new ProcessBuilder(command(options.toArray(String[]::new)))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        folder.resolve("server.log").toFile()));
        builder.environment().putAll(environment);
        return builder.start();
    }

    private List<String> command(String... options) {
        var command = new ArrayList<>(
                List.of(program, "--no-defaults", "--datadir=" + folder.resolve("data"), "--innodb-log-file-size=8M"));
        if (System.getProperty("user.name").equals("root")) {
            command.add("--user=root");
        }
        command.addAll(List.of(options));
        return command;
    }

    private void awaitAnswer() {
        Eventually.eventually("MariaDB answers", Duration.ofSeconds(60), () -> {
            try (var connection = DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root")) {
                return connection.isValid(1);
            } catch (SQLException e) {
                return false; // starting up
            }
        });
    }
}
